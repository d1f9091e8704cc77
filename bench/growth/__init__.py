"""What becomes of the cost of a run when there is more of something: jobs, waiting runs, history, tenants, workers, schedules."""
