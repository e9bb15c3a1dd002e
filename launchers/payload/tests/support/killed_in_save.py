"""`python -m support.killed_in_save train --manifest job.json`: a job that dies by SIGKILL in the middle of a save.

The step is KILL_IN_SAVE of the environment; its weights are on disk then, its optimizer state is not.
"""

from __future__ import annotations

import os
import signal
import sys

from understudy_payload import train
from understudy_payload.__main__ import main
from understudy_payload.trainer import OmniTrainer


class KilledInSave(OmniTrainer):
    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        if self.state.global_step == int(os.environ["KILL_IN_SAVE"]):
            os.kill(os.getpid(), signal.SIGKILL)
        super()._save_optimizer_and_scheduler(output_dir)


train.OmniTrainer = KilledInSave
sys.exit(main())
