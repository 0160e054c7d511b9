"""What all tests share: one thread, so that other load on the machine costs little."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported, and for every subprocess

import torch

torch.set_num_threads(1)
