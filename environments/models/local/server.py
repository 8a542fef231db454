"""The child process behind `local_model_server`: `python -m environments.models.local.server`.

It prints one JSON line with its URL when the model is loaded, and ends when its standard input
does: that is when the parent closes the pipe, or dies, however it dies.
"""

import json
import sys

SLOTS = 2
"""Requests worked on at once; further ones are queued."""
THREADS = 1
"""Several threads of one server wait for each other by spinning: two of them on two busy cores
generate a tenth as fast as one. One server per core, each with one thread, avoids that."""
CONTEXT_TOKENS = 4096
"""Per slot; the models take 8192 and more, but reading that much takes minutes on one core."""
CACHE_MIB = 512
"""Prompts kept after their slot went to another request: about 22,000 tokens of SmolLM2-135M,
43,000 of Qwen2.5-Coder-0.5B and 18,000 of Qwen2.5-Coder-1.5B."""


def main(path: str, name: str) -> None:
    """Serve the GGUF file at `path` as model `name` until standard input ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {name}
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT_TOKENS
    params.n_gpu_layers = 0
    params.fit_params = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.n_threads_http = SLOTS + 2
    params.cache_ram_mib = CACHE_MIB
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = "null"
    server = xllamacpp.Server(params)
    sys.stdout.write(json.dumps({"url": server.listening_address}) + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
