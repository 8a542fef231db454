#!/bin/sh
# Does with Debian's PostgreSQL what compose.yaml wants of the image `postgres`.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin)
sql() { "$bin/psql" --quiet --host=/tmp --username="$POSTGRES_USER" --dbname="$1"; }
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    (umask 077 && printf '%s' "$POSTGRES_PASSWORD" >/tmp/password)
    "$bin/initdb" --pgdata="$PGDATA" --username="$POSTGRES_USER" --encoding=UTF8 --auth-local=trust \
        --auth-host=scram-sha-256 --pwfile=/tmp/password >/dev/null
    rm /tmp/password
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    "$bin/pg_ctl" --silent --wait --pgdata="$PGDATA" \
        --options="-c listen_addresses= -c unix_socket_directories=/tmp" start
    echo "CREATE DATABASE $POSTGRES_DB" | sql postgres
    for file in /docker-entrypoint-initdb.d/*.sql; do sql "$POSTGRES_DB" <"$file"; done
    "$bin/pg_ctl" --silent --wait --pgdata="$PGDATA" stop
fi
exec "$bin/postgres" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
