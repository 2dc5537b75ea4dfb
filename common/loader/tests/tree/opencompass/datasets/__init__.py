from .language import *  # noqa: F401, F403
from .library import *  # noqa: F401, F403
from .files import CsvDataset, JsonDataset, LinesDataset, TableDataset  # noqa: F401
