-- Tables of records and servers. Keys are compared by their bytes, regardless of the collation of the database.
-- {schema}: quoted.
CREATE TABLE {schema}.records (key text COLLATE "C" PRIMARY KEY, value text NOT NULL);
CREATE TABLE {schema}.servers (id text PRIMARY KEY, process text NOT NULL, seen_at timestamptz NOT NULL);
