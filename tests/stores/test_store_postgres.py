"""The store in PostgreSQL, on a real server."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import settings
from brim.errors import BadSetting
from brim.stores.objects import ObjectFolder
from brim.stores.protocol import Limits, Store, Turn, Wanted, blob_digest
from brim.stores.resilient import open_store
from brim.testing.stores import StoreConformance
from tests.stores.servers import Postgres, free_port

psycopg = pytest.importorskip("psycopg", reason="needs the extra: pip install 'brim[postgres]'")
pytest.importorskip("psycopg_pool", reason="needs the extra: pip install 'brim[postgres]'")

from brim.stores.postgres import connections, schema  # noqa: E402, only where psycopg is
from brim.stores.postgres.opening import BufferedPostgres  # noqa: E402
from brim.stores.postgres.schema import TABLES  # noqa: E402
from brim.stores.postgres.store import PostgresStore  # noqa: E402


def empty(url: str) -> None:
    """Delete whatever a test before this one has left."""
    with psycopg.connect(url, autocommit=True) as db:
        if db.execute("SELECT to_regclass('brim_schema') IS NOT NULL").fetchone()[0]:
            db.execute(f"TRUNCATE {', '.join(f'brim_{table}' for table in TABLES)}")


class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: str) -> None:
        self.url = postgres
        empty(postgres)

    def make(self, limits: Limits, now: Callable[[], float]) -> Store:
        return PostgresStore(self.url, limits, now=now)

    def again(self, store: Store) -> Store:
        return PostgresStore(self.url, connections=2, now=self.clock)


def test_an_address_is_all_that_a_session_needs(postgres: str) -> None:
    empty(postgres)
    first = brim.Session(model="gpt-4o", budget=20_000, store=postgres, id="desk")
    first.say("Is berth 12 free?")
    first.record({"choices": [{"message": {"role": "assistant", "content": "It is."}}]})
    again = brim.Session.load("desk", store=postgres)
    assert [message.text for message in again.log] == ["Is berth 12 free?", "It is."]
    assert [one.id for one in brim.list_sessions(postgres)] == ["desk"]
    first.store.close()
    again.store.close()


def test_settings_name_a_database_by_one_line_or_by_a_variable(tmp_path: Path) -> None:
    (tmp_path / "brim.toml").write_text('store = "postgresql://db.example/brim"\n')
    assert settings.load(tmp_path, {}).store_place == "postgresql://db.example/brim"
    (tmp_path / "brim.toml").write_text('[store]\naddress_env = "DATABASE_URL"\n')
    loaded = settings.load(tmp_path, {"DATABASE_URL": "postgresql://brim:s3cret@db/brim"})
    assert loaded.store_place == "postgresql://brim:s3cret@db/brim"
    shown = settings.load(tmp_path, {"BRIM_STORE_PATH": "postgresql://brim:s3cret@db/brim?sslpassword=s3cret"}).rows()
    assert {key: value for key, value, _ in shown}["store.path"] == ("postgresql://brim:***@db/brim?sslpassword=***")


def test_without_the_driver_the_error_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None; import brim\n"
        "try: brim.Session(model='gpt-4o', store='postgresql://db/brim')\n"
        "except ImportError as problem: print(problem)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "the PostgreSQL store needs an optional part: pip install 'brim[postgres]'"


def test_what_is_wrong_with_an_address_is_told_without_its_password(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BadSetting) as refused:
        open_store("postgresql://brim:s3cret@[broken")
    nowhere = open_store("postgresql://brim:s3cret@127.0.0.1:9/brim?connect_timeout=1")
    assert nowhere.degraded is not None
    assert nowhere.commit(Turn("a", [b"one"], expected=0)) == 0
    assert list(nowhere.records("a")) == [b"one"]
    nowhere.close()
    assert "127.0.0.1:9" in caplog.text
    assert "s3cret" not in caplog.text + str(refused.value) + nowhere.degraded


def test_a_database_of_another_version_is_refused_and_one_of_an_older_is_brought_up(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresStore(postgres).close()
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("INSERT INTO brim_schema VALUES (99)")
        try:
            with pytest.raises(BadSetting, match=r"version 99 .* versions up to 2: upgrade Brim"):
                PostgresStore(postgres)
        finally:
            db.execute("DELETE FROM brim_schema WHERE version = 99")
        monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, schema.STEPS[0]))
        with pytest.raises(BadSetting, match="brim store migrate"):
            PostgresStore(postgres)
        with pytest.raises(psycopg.errors.DuplicateTable):  # a step that fails leaves the version as it was
            schema.migrate(db, "the test")
        assert schema.version_of(db) == 2


def test_a_database_of_the_first_version_is_brought_up_with_all_it_keeps(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("DROP SCHEMA public CASCADE")
        db.execute("CREATE SCHEMA public")
    with monkeypatch.context() as before:
        before.setattr(schema, "STEPS", schema.STEPS[:1])
        old = PostgresStore(postgres)
        old.commit(Turn("acme~a", [b"kept"]))
        old.close()
    with pytest.raises(BadSetting, match="brim store migrate"):
        PostgresStore(postgres)
    assert schema.migrate_at(postgres) == (1, 2)
    store = PostgresStore(postgres)
    assert list(store.records("acme~a")) == [b"kept"]
    store.close()


def test_a_turn_waits_for_the_disk_unless_the_settings_say_otherwise(postgres: str) -> None:
    empty(postgres)
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("CREATE TABLE IF NOT EXISTS told(setting text)")
        db.execute(
            "CREATE OR REPLACE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN INSERT INTO told VALUES (current_setting('synchronous_commit')); RETURN NULL; END$$"
        )
        trigger = "CREATE CONSTRAINT TRIGGER tell AFTER INSERT ON brim_turns DEFERRABLE INITIALLY DEFERRED"
        db.execute(f"{trigger} FOR EACH ROW EXECUTE FUNCTION tell()")
        try:
            for given in (True, False):
                store = PostgresStore(postgres, wait_for_disk=given, connections=1)
                assert store.commit(Turn(f"a{given}", [b"x"])) == 0
                store.put_session("b", {})
                assert store.connections.run(lambda db: db.execute("SHOW synchronous_commit").fetchone()) == ("on",)
                store.close()
            assert db.execute("SELECT setting FROM told").fetchall() == [("on",), ("off",)]
        finally:
            db.execute("DROP TABLE told")
            db.execute("DROP FUNCTION tell() CASCADE")


def test_large_contents_lie_in_a_folder_and_go_with_their_session(postgres: str, tmp_path: Path) -> None:
    empty(postgres)
    store = PostgresStore(postgres, objects=ObjectFolder(tmp_path / "objects"))
    large, small = random.Random(1).randbytes(3 << 20), b"small " * 1_000
    store.commit(Turn("a", [large, small], [large]))
    store.commit(Turn("b", [large]))
    assert list(store.records("a")) == [large, small]
    assert store.load(Wanted("b")).records == (large,)
    assert store.find_blob(blob_digest(large).hex()[:12], "a") == large
    files = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    store.delete_session("a")
    assert list(store.records("b")) == [large]
    store.delete_session("b")
    with psycopg.connect(postgres) as db:
        assert db.execute("SELECT count(*) FROM brim_contents").fetchone() == (0,)
    store.close()


def test_a_database_that_restarts_costs_no_turn(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="brim-pg-"))
    server = Postgres(folder)
    store = BufferedPostgres(server.url)
    try:
        owner = {"owner": "me"}
        assert store.commit(Turn("a", [b"0"], expected=0, epoch=0, **owner)) == 0
        server.stop("immediate")
        server.start()
        assert store.commit(Turn("a", [b"1"], expected=1, epoch=1, **owner)) == 1  # on a new connection
        server.stop("immediate")
        assert store.commit(Turn("a", [b"2"], expected=2, epoch=1, **owner)) is not None
        assert store.degraded is not None
        server.start()
        assert store.catch_up()
        assert store.commit(Turn("a", [b"3"], expected=3, epoch=1, **owner)) == 3
        assert store.degraded is None
        assert list(store.records("a")) == [b"0", b"1", b"2", b"3"]
    finally:
        store.close()
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_turn_whose_answer_was_lost_is_not_written_twice(postgres: str) -> None:
    empty(postgres)
    store = PostgresStore(postgres)
    turn = Turn("a", [b"0"], expected=0, epoch=0, owner="me")
    lost = iter([True])

    class Cut(psycopg.Connection):  # type: ignore[type-arg]
        def execute(self, query: Any, *given: Any, **beside: Any) -> Any:
            done = super().execute(query, *given, **beside)
            if "brim_commit" in str(query) and next(lost, False):
                self.close()
                raise psycopg.OperationalError("the connection is lost")
            return done

    store.connections.pool.connection_class = Cut
    store.connections.pool.drain()
    assert store.commit(turn) == 0
    assert list(store.records("a")) == [b"0"]
    store.close()


@pytest.fixture(scope="module")
def pgbouncer(postgres: str) -> Iterator[str]:
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not Path(program).exists():
        pytest.skip("needs pgbouncer: apt-get install pgbouncer")
    parts = psycopg.conninfo.conninfo_to_dict(postgres)
    port = free_port()
    folder = Path(tempfile.mkdtemp(prefix="brim-bouncer-"))
    folder.chmod(0o777)
    (folder / "users").write_text('"brim" ""\n')
    (folder / "ini").write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={parts['port']} dbname=postgres\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = trust\nauth_file = {folder}/users\n"
        "pool_mode = transaction\ndefault_pool_size = 5\nmax_client_conn = 200\nunix_socket_dir =\n"
        f"client_tls_sslmode = allow\nclient_tls_key_file = {folder}/key\nclient_tls_cert_file = {folder}/certificate\n"
    )
    made = "req -x509 -nodes -newkey rsa:2048 -days 2 -subj /CN=brim -addext subjectAltName=IP:127.0.0.1".split()
    words = ["openssl", *made, "-keyout", str(folder / "key"), "-out", str(folder / "certificate")]
    subprocess.run(words, check=True, capture_output=True)
    (folder / "key").chmod(0o644)  # pgbouncer reads it as a user of its own
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    process = subprocess.Popen([program, *user, str(folder / "ini")], stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert any(b"process up" in line for line in process.stderr), "pgbouncer has ended"
    yield f"postgresql://brim@127.0.0.1:{port}/postgres?sslrootcert={folder}/certificate"
    process.terminate()
    process.communicate()
    shutil.rmtree(folder, ignore_errors=True)


class TestBehindPgbouncer(TestPostgres):
    """In transaction mode: every transaction may be on another connection."""

    @pytest.fixture(autouse=True)
    def _server(self, postgres: str, pgbouncer: str) -> None:
        empty(postgres)
        self.url = pgbouncer


def test_statements_are_prepared_only_where_no_pooler_stands_between(postgres: str, pgbouncer: str) -> None:
    for url, after in ((postgres, connections.PREPARED_AFTER), (pgbouncer, None)):
        store = PostgresStore(url)
        assert store.connections.run(lambda db: db.prepare_threshold) == after
        store.close()


def test_a_server_that_says_nothing_is_left_after_a_moment(postgres: str) -> None:
    store = PostgresStore(postgres)
    slow = "SELECT pg_sleep(5)"
    with pytest.raises(connections.Silent):
        store.connections.run(lambda db: db.execute(slow), within=0.2)
    assert store.connections.run(lambda db: db.execute("SELECT 1").fetchone()) == (1,)
    assert store.connections.at_leisure(lambda db: db.execute("SELECT pg_sleep(.3)").fetchone()) == ("",)
    store.close()


def test_a_server_is_spoken_to_by_tls_and_only_where_its_certificate_is_the_right_one(
    postgres: str, pgbouncer: str, tmp_path: Path
) -> None:
    empty(postgres)
    store = open_store(f"{pgbouncer}&sslmode=verify-full")
    assert store.commit(Turn("a", [b"mhi"])) == 0
    assert isinstance(store, BufferedPostgres)
    assert store._file.connections.run(lambda db: db.pgconn.ssl_in_use)  # type: ignore[union-attr]
    store.close()
    other = tmp_path / "other.pem"
    words = ["openssl", *"req -x509 -nodes -newkey rsa:2048 -days 2 -subj /CN=other".split()]
    subprocess.run([*words, "-keyout", str(tmp_path / "key"), "-out", str(other)], check=True, capture_output=True)
    refused = open_store(f"{pgbouncer.partition('?')[0]}?sslmode=verify-full&sslrootcert={other}")
    assert refused.degraded == "PoolTimeout"
    refused.close()
