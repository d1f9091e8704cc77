"""The OpenAPI document, made from the routes and their types, and the page that shows it."""
