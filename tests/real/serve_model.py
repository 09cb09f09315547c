"""Serves a GGUF model by the llama.cpp server inside xllamacpp: chat, responses and messages, with true usage.

pip install xllamacpp
python serve_model.py o200k.gguf --port 9702 --window 16384
"""

from __future__ import annotations

import argparse
import signal

import xllamacpp

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("path")
parser.add_argument("--port", type=int, default=9702)
parser.add_argument("--window", type=int, default=16_384)
parser.add_argument("--answer", type=int, default=64, metavar="TOKENS", help="longest answer")
parser.add_argument("--alias", default="tiny", help="the model's name")
args = parser.parse_args()

wanted = xllamacpp.CommonParams()
wanted.model.path = args.path
wanted.port = args.port
wanted.n_ctx = args.window
wanted.n_parallel = 1
wanted.n_predict = args.answer
wanted.cpuparams.n_threads = 2
wanted.warmup = False
wanted.ctx_shift = False
wanted.model_alias = {args.alias}
server = xllamacpp.Server(wanted)
print(f"http://127.0.0.1:{args.port}", flush=True)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
