DATASETS_MAPPING = {
    'opencompass/lines': {'ms_id': None, 'hf_id': None, 'local': './data/lines.jsonl'},
}
