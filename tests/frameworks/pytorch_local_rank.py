"""Each rank prints its place: from the variables of torchrun, and for older scripts from an option."""
import argparse
import os

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--device")
parser.add_argument("--local_rank", "--local-rank", type=int)
flags = parser.parse_args()

assert dist.is_torchelastic_launched()
local_rank, local_size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="env://")
places = [None] * dist.get_world_size()
dist.all_gather_object(places, (int(os.environ["GROUP_RANK"]), local_rank))
assert len(set(places)) == len(places), f"two ranks would take one device: {places}"
option = "" if flags.local_rank is None else ", as given"
assert flags.local_rank in (None, local_rank)
print(f"rank {dist.get_rank()} of {len(places)}: node {places[dist.get_rank()][0]}, "
      f"local rank {local_rank} of {local_size}{option}")
dist.destroy_process_group()  # else a thread of Gloo that still runs at the interpreter's end aborts the process
