-- name: server
-- The version that is used, and how much the file holds.
SELECT sqlite_version(), c.page_count * s.page_size FROM pragma_page_count() AS c, pragma_page_size() AS s;
