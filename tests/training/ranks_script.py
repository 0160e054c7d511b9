"""Run by torchrun: `regard train`, of which the first process keeps the first gradients.

At the end it names its threads, where the system lists them.
"""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from regard.cli import main


def keep_first(optimizer: torch.optim.Optimizer, arguments: Any, options: Any) -> None:
    path = Path(os.environ["GRADIENTS"])
    if os.environ.get("RANK", "0") == "0" and not path.exists():
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        safetensors.torch.save_file({str(i): p.grad for i, p in enumerate(parameters)}, path)


def print_threads() -> None:
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    print("threads at the end:", *sorted(names), flush=True)


register_optimizer_step_pre_hook(keep_first)
atexit.register(print_threads)  # first, so that it comes last
sys.exit(main())
