"""Runs padded batches through transformers, as OpenCompass's HuggingFaceBaseModel and lm-eval's HFLM do.

Called as `transformers.py MODEL_FOLDER THREADS`. Reads one JSON object a line and answers each with one:
  {"do": "score", "ids": [[...]]}                             -> {"wall": s, "processor": s, "sums": [nll of t2..tn, ...]}
  {"do": "generate", "ids": [[...]], "most": n, "eos": [...]} -> {"wall": s, "processor": s, "answers": [[...]]}
Only the model's own time is measured, by the wall and by the processor time of all threads.
"""

import json
import sys
import time

# Its own folder comes first on the path, where this very file would stand for the library.
sys.path = [place for place in sys.path if not place.endswith("/bench")]

import torch  # noqa: E402
import transformers  # noqa: E402


def clocks():
    return time.perf_counter(), time.process_time()


def since(begin):
    now = clocks()
    return {"wall": now[0] - begin[0], "processor": now[1] - begin[1]}


def padded(texts, left):
    longest = max(len(text) for text in texts)
    ids = torch.zeros(len(texts), longest, dtype=torch.long)
    mask = torch.zeros(len(texts), longest, dtype=torch.long)
    for row, text in enumerate(texts):
        place = slice(longest - len(text), longest) if left else slice(0, len(text))
        ids[row, place] = torch.tensor(text)
        mask[row, place] = 1
    return ids, mask


def score(model, texts):
    ids, mask = padded(texts, left=False)
    begin = clocks()
    logits = model(ids, attention_mask=mask, use_cache=False).logits
    log_probs = torch.log_softmax(logits[:, :-1].float(), dim=-1)
    taken = log_probs.gather(2, ids[:, 1:, None]).squeeze(2)
    sums = [-taken[row, :len(text) - 1].double().sum().item() for row, text in enumerate(texts)]
    return since(begin) | {"sums": sums}


def generate(model, texts, most, eos):
    ids, mask = padded(texts, left=True)
    begin = clocks()
    out = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=most, eos_token_id=eos or None,
                         pad_token_id=0)
    seconds = since(begin)
    answers, ends = [], set(eos)
    for row in out[:, ids.shape[1]:].tolist():
        end = next((place + 1 for place, token in enumerate(row) if token in ends), len(row))
        answers.append(row[:end])
    return seconds | {"answers": answers}


def main():
    folder, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
    model.eval()
    print(json.dumps({"versions": f"torch {torch.__version__}, transformers {transformers.__version__}"}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "score":
            answer = score(model, asked["ids"])
        else:
            answer = generate(model, asked["ids"], asked["most"], asked["eos"])
        print(json.dumps(answer), flush=True)


main()
