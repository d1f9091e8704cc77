"""The judge: it reads the logs of a scenario and shares nothing with the product, nor with whoever made the logs, but their shapes."""
