"""The store for many machines: PostgreSQL 15 or later, through asyncpg."""
