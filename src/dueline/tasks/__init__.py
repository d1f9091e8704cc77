"""Python tasks: functions with a name that workers carry out."""
