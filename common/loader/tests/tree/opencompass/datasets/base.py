from datasets import Dataset


class BaseDataset:

    def __init__(self, reader_cfg={}, **kwargs):
        self.dataset = self.load(**kwargs)

    @staticmethod
    def load(**kwargs) -> Dataset:
        pass
