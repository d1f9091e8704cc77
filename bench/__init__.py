"""What Dueline costs, measured: every figure beside the one it is compared with, in the same run."""
