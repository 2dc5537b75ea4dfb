import os

from .datasets_info import DATASETS_MAPPING


def get_data_path(dataset_id, local_mode=False):
    if os.path.isabs(dataset_id):
        return dataset_id
    known = DATASETS_MAPPING.get(dataset_id)
    return os.path.join(os.environ.get('COMPASS_DATA_CACHE', ''), known['local'] if known else dataset_id)
