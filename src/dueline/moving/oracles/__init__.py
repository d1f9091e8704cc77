"""When the other schedulers would fire, by their own rules: slow walks over every minute, which share nothing with the converters."""
