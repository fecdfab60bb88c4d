"""PyTorch: rival_pytorch.py sdpa | compile | mha | textbook | attention, and bf16 for modules and
inputs of it; q8 | q4 for weights of few bits."""
import sys
from contextlib import AbstractContextManager
from typing import Any, Callable, Dict, List, Tuple

import torch
from peer import Layer, Problem, Rival, Variant, serve
from pytorch_few_bits import PRODUCTS, Product
from pytorch_modules import Mha, Sdpa, Textbook, TextbookWrapper, Weights


DTYPE = torch.bfloat16 if "bf16" in sys.argv[2:] else torch.float32


class PyTorch(Rival):
    """Common to all: f32 that stays f32 unless bf16 is asked for, threads as told, inference mode
    around the calls."""

    def about(self) -> Tuple[str, Dict[str, Any]]:
        torch.set_float32_matmul_precision("highest")
        return f"pytorch {torch.__version__}", {
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "dtype": str(DTYPE),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "mode": "torch.inference_mode, modules built outside it",
            "parallel": parallel_info(),
        }

    def calling(self) -> AbstractContextManager:
        return torch.inference_mode()

    def variants(self, problem: Problem) -> List[Variant]:
        torch.set_num_threads(problem.threads)
        torch.set_float32_matmul_precision("highest")
        if torch.get_num_threads() != problem.threads:
            raise RuntimeError(f"PyTorch took {torch.get_num_threads()} threads")
        return self.ways(problem)

    def ways(self, problem: Problem) -> List[Variant]:
        raise NotImplementedError


def parallel_info() -> str:
    lines = torch.__config__.parallel_info().splitlines()
    kept = [line.strip() for line in lines if "version" in line or "backend" in line]
    return "; ".join(dict.fromkeys(kept))


def built(make: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """Outside inference mode, as a user's model is: products of weights that were made inside it
    are not folded over the batch, which costs nn.MultiheadAttention several times its speed."""
    with torch.inference_mode(False):
        return make().to(DTYPE).eval()


def layer_of(problem: Problem, module: Callable[[Any], Any], note: str) -> Layer:
    xs = [torch.from_numpy(x).to(DTYPE) for x in problem.xs()]
    module(xs[0])  # compiles, where it does
    return Layer(
        lambda i: module(xs[i]), lambda i: module(xs[i]).float().contiguous().numpy(), note
    )


class Eager(PyTorch):
    def ways(self, problem: Problem) -> List[Variant]:
        weights = Weights(problem)

        def way(fused: bool) -> Callable[[], Layer]:
            return lambda: layer_of(problem, built(lambda: Sdpa(weights, fused)), "eager SDPA")

        return [Variant("fused", "fused", way(True)), Variant("split", "split", way(False))]


class FewBits(PyTorch):
    """Eager SDPA between products that expand weights of few bits: PyTorch's own, without torchao.
    Their fast kernels are those of bf16."""

    stored = sys.argv[1]

    def about(self) -> Tuple[str, Dict[str, Any]]:
        version, settings = super().about()
        return f"{version}, {self.note()}", settings

    def note(self) -> str:
        products = "bf16" if DTYPE == torch.bfloat16 else "float32"
        return f"{PRODUCTS[self.stored].note}, {products} products"

    def ways(self, problem: Problem) -> List[Variant]:
        weights = Weights(problem)
        product: Callable[..., Product] = PRODUCTS[self.stored]

        def way(fused: bool) -> Callable[[], Layer]:
            def make() -> Layer:
                with torch.inference_mode(False):
                    module = Sdpa(weights, fused).eval()
                for name, linear in list(module.named_modules()):
                    if isinstance(linear, torch.nn.Linear):
                        module.set_submodule(name, product(linear, DTYPE))
                return layer_of(problem, module, f"{self.note()}, eager SDPA")

            return make

        return [Variant("fused", "fused", way(True)), Variant("split", "split", way(False))]


class Compiled(PyTorch):
    """torch.compile with freezing, which lets the compiler pack the weights."""

    def about(self) -> Tuple[str, Dict[str, Any]]:
        version, settings = super().about()
        return version, {**settings, "inductor": "freezing, fullgraph, static shapes"}

    def ways(self, problem: Problem) -> List[Variant]:
        from torch._inductor import config

        config.freezing = True
        config.compile_threads = 1
        weights = Weights(problem)

        def way(fused: bool, **options: Any) -> Callable[[], Layer]:
            def make() -> Layer:
                torch._dynamo.reset()
                module = built(lambda: Sdpa(weights, fused))
                told = ", ".join(f"{k}={v}" for k, v in {"freezing": True, **options}.items())
                compiled = torch.compile(module, fullgraph=True, dynamic=False, **options)
                return layer_of(problem, compiled, f"compiled SDPA, {told}")

            return make

        return [
            Variant("fused", "fused", way(True)),
            Variant("fused-autotuned", "fused", way(True, mode="max-autotune")),
            Variant("fused-wrapped", "fused", way(True, options={"cpp_wrapper": True})),
            Variant("split", "split", way(False)),
        ]


class MultiheadAttention(PyTorch):
    def ways(self, problem: Problem) -> List[Variant]:
        weights = Weights(problem)

        def way(bias: bool, note: str) -> Callable[[], Layer]:
            return lambda: layer_of(problem, built(lambda: Mha(weights, bias)), note)

        return [
            Variant("no-bias", "fused", way(False, "nn.MultiheadAttention, SDPA inside")),
            Variant("zero-bias", "fused", way(True, "nn.MultiheadAttention, its fast path")),
        ]


class Plain(PyTorch):
    """The textbook's module, its heads as split matrices and as one small module each."""

    def ways(self, problem: Problem) -> List[Variant]:
        weights = Weights(problem)

        def way(module: Any) -> Callable[[], Layer]:
            return lambda: layer_of(problem, built(lambda: module(weights)), "masked softmax")

        return [
            Variant("split", "split", way(Textbook)),
            Variant("wrapper", "wrapper", way(TextbookWrapper)),
        ]


class Attention(PyTorch):
    """`scaled_dot_product_attention` over given heads, where ours lie, and where PyTorch's own
    modules leave and keep them: head by head."""

    def ways(self, problem: Problem) -> List[Variant]:
        def way(lie: Callable[[torch.Tensor, bool], torch.Tensor], note: str) -> Callable[[], Layer]:
            return lambda: attention_of(problem, lie, note)

        # (batch, heads, tokens, head_dim) of memory that is token by token, or not.
        def as_given(heads: torch.Tensor, is_key: bool) -> torch.Tensor:
            kept = is_key and problem.past > 0
            return heads.contiguous() if kept else heads.transpose(1, 2).contiguous().transpose(1, 2)

        def by_head(heads: torch.Tensor, _: bool) -> torch.Tensor:
            return heads.contiguous()

        return [
            Variant("as-given", "attention", way(as_given, "SDPA, heads as given")),
            Variant("head-major", "attention", way(by_head, "SDPA, head by head")),
        ]


def attention_of(
    problem: Problem, lie: Callable[[torch.Tensor, bool], torch.Tensor], note: str
) -> Layer:
    def read(name: str) -> torch.Tensor:
        heads = torch.from_numpy(problem.heads(name)).to(DTYPE).transpose(1, 2)
        return lie(heads, not name.startswith("x"))

    queries = [read(f"x{i}") for i in range(problem.inputs)]
    key, value = read("key"), read("value")
    tokens, past = queries[0].shape[2], problem.past
    told: Dict[str, Any] = {}
    if past == 0:
        told["is_causal"] = True  # counts from the first key
    elif tokens > 1:
        seen = torch.ones(tokens, past + tokens, dtype=torch.bool).tril(past)
        told["attn_mask"] = seen

    def call(i: int) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(queries[i], key, value, **told)

    def output(i: int) -> Any:
        return call(i).transpose(1, 2).float().contiguous().numpy()

    return Layer(call, output, note)


KINDS = {
    "attention": Attention,
    "sdpa": Eager,
    "compile": Compiled,
    "mha": MultiheadAttention,
    "textbook": Plain,
    "q8": FewBits,
    "q4": FewBits,
}

if __name__ == "__main__":
    serve(KINDS[sys.argv[1]])
