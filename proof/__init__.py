"""Real processes are hurt while they work, and a judge who knows nothing of them reads what everybody wrote down."""
