# The extension module, as the package's Python files see it.
from typing import Any, Dict, List, Optional, Tuple

version: str

class LayerConfig:
    d_in: int
    d_out: int
    heads: int
    causal: bool
    qkv_bias: bool
    d_proj: int
    dropout: float
    dropout_seed: int
    kv_heads: int
    value_dim: int
    window: int
    chunk: int
    clip: float
    scale: float
    softcap: float
    sinks: bool
    gate: bool
    d_memory: int
    def __init__(self) -> None: ...
    def set_rotary(
        self,
        pairs: str,
        base: float,
        scale: float,
        width: int,
        divisors: List[float],
        amplitude: float,
    ) -> None: ...
    def set_sections(self, sections: List[int], interleaved: bool) -> None: ...
    def set_long_contexts(
        self, context: int, long_divisors: List[float], growth: float
    ) -> None: ...
    def set_norm(self, over: str, weighted: bool, after_rotary: bool, epsilon: float) -> None: ...
    def set_position_bias(self, kind: str, buckets: int, farthest: int) -> None: ...
    def set_temperature(self, step: float, scale: float) -> None: ...
    def set_latent(self, rank: int, query_rank: int, shared: int, epsilon: float) -> None: ...
    def fields(self) -> Dict[str, Any]: ...
    @property
    def output_width(self) -> int: ...
    def id(self) -> str: ...

class CallSizes:
    batch: int
    tokens: int
    memory_tokens: int
    def __init__(self) -> None: ...

class Weights:
    query: Any
    key: Any
    value: Any
    output: Any
    query_bias: Any
    key_bias: Any
    value_bias: Any
    output_bias: Any
    query_norm: Any
    key_norm: Any
    sinks: Any
    gate: Any
    position_bias: Any
    key_down: Any
    key_down_norm: Any
    query_down: Any
    query_down_norm: Any
    def __init__(self) -> None: ...

class Options:
    backend: str
    formulation: Optional[str]
    threads: int
    isa: Optional[str]
    unit: Optional[str]
    kernels: str
    precision: str
    dtype: str
    weights_dtype: Optional[str]
    cache_dtype: Optional[str]
    tuning_file: str
    def __init__(self) -> None: ...

class Cache:
    @property
    def sequences(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def lengths(self) -> List[int]: ...
    def truncate(self, sequence: int, length: int) -> None: ...
    def take(self, other: Cache, sequences: List[int]) -> None: ...
    def clear(self) -> None: ...

class Layer:
    @staticmethod
    def make(
        config: LayerConfig, largest: CallSizes, weights: Weights, options: Options
    ) -> Tuple[Layer, List[str]]: ...
    def forward(
        self,
        x: Any,
        out: Any,
        padded: Tuple[Optional[List[int]], bool],
        cache: Optional[Cache],
        memory: Any,
        memory_lengths: Optional[List[int]],
        places_before: Optional[List[int]],
        positions: Optional[List[int]],
        context: int,
        mask: Any,
    ) -> None: ...
    def append(
        self,
        x: Any,
        padded: Tuple[Optional[List[int]], bool],
        cache: Cache,
        positions: Optional[List[int]],
        context: int,
    ) -> None: ...
    def seconds(self, x: Any, out: Any, calls: int) -> float: ...
    def make_cache(self, sequences: int, capacity: int) -> Cache: ...
    @property
    def choice(self) -> Dict[str, Any]: ...
    @property
    def costs(self) -> Dict[str, Any]: ...

class LayerWeights:
    config: LayerConfig
    layout: str
    layer: str
    notes: List[str]
    warnings: List[str]
    def make(self, largest: CallSizes, options: Options) -> Tuple[Layer, List[str]]: ...

def load_weights(path: str, layer: str, config: str, family: str) -> LayerWeights: ...

class Sizes:
    batch: int
    queries: int
    keys: int
    heads: int
    kv_heads: int
    head_dim: int
    def __init__(self) -> None: ...

class Attend:
    @staticmethod
    def make(
        most: Sizes, causal: bool, window: int, scale: float, softcap: float, options: Options
    ) -> Tuple[Attend, List[str]]: ...
    def run(
        self,
        q: Any,
        k: Any,
        v: Any,
        out: Any,
        mask: Any,
        sinks: Any,
        query_lengths: Optional[List[int]],
        key_lengths: Optional[List[int]],
        cache: Optional[Cache],
    ) -> None: ...
    def make_cache(self, sequences: int, capacity: int) -> Cache: ...
    @property
    def choice(self) -> Dict[str, Any]: ...
    @property
    def costs(self) -> Dict[str, Any]: ...

def backends() -> List[Dict[str, Any]]: ...
