"""Programs that no rule was written or tuned with: `capture-commands --fresh` runs these, each on small inputs made here.

A format's name ends in the kind that its text is, as in unseen.py.
"""

# ruff: noqa: E501

from __future__ import annotations

_GETS = "for n in 1 2 3 4 5 6 7 8 9; do curl -s -o /dev/null -A ship/$n http://127.0.0.1:18490/berth/$n?crate=$n; done"
_PARTS = "\n".join(f"part{n} = {n} +" if n % 4 == 3 else f"part{n} = {n}" for n in range(24))


def _file(name: str, text: str, run: str) -> str:
    return f"mkdir -p fresh && cd fresh && cat > {name} <<'EOF'\n{text}\nEOF\n{run}"


def _shell(body: str) -> str:
    return "".join(body.replace("@", str(n)) for n in range(9))


FRESH: dict[str, list[str]] = {
    # Logs that servers and tools write.
    "nginx.log": [_file("nginx.conf", "daemon off; pid n.pid; error_log e.log debug; events {} http { access_log a.log; server { listen 127.0.0.1:18490; root .; } }", f"(timeout 4 nginx -p . -c nginx.conf >/dev/null 2>&1 & sleep 1; {_GETS}; wait); head -{lines} {name}") for name, lines in (("a.log", 40), ("e.log", 120))],
    "apache.log": [_file("apache.conf", "ServerRoot /tmp\nServerName x\nListen 127.0.0.1:18490\nPidFile a.pid\nLoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\nLoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\nErrorLog /tmp/fresh-apache.log\nLogLevel trace3", f"(timeout 4 apache2 -X -f $PWD/apache.conf >/dev/null 2>&1 & sleep 1; {_GETS}; wait); cat /tmp/fresh-apache.log | head -90")],
    "haproxy.log": [_file("ha.cfg", "global\n  log stdout format raw local0\ndefaults\n  mode http\n  log global\n  option httplog\n  timeout client 2s\n  timeout server 2s\n  timeout connect 1s\nfrontend f\n  bind 127.0.0.1:18490\n  default_backend b\nbackend b\n  server s 127.0.0.1:1", f"(timeout 5 haproxy -f ha.cfg 2>&1 & sleep 1; {_GETS}; wait)")],
    "lighttpd.log": [_file("l.conf", 'server.document-root = "/tmp"\nserver.port = 18490\nserver.bind = "127.0.0.1"\ndebug.log-request-handling = "enable"\ndebug.log-request-header = "enable"', f"(timeout 4 lighttpd -D -f l.conf 2>&1 & sleep 1; {_GETS}; wait) | head -120")],
    "dnsmasq.log": ["(timeout 4 dnsmasq -d -q -p 18491 -a 127.0.0.1 -z --no-resolv --address=/ship/10.0.0.1 2>&1 & sleep 1; for n in 1 2 3 4 5 6 7 8 9; do python3 -c \"import socket,struct;s=socket.socket(2,2);s.sendto(bytes([0,$n,1,0,0,1,0,0,0,0,0,0,4])+b'ship'+bytes([0,0,1,0,1]),('127.0.0.1',18491))\"; done; wait)"],
    "memcached.log": ["(timeout 4 memcached -u root -vvv -l 127.0.0.1 -p 18492 2>&1 & sleep 1; for n in 1 2 3 4 5; do printf 'set ship%s 0 0 3\\r\\nabc\\r\\nget ship%s\\r\\nquit\\r\\n' $n $n | timeout 1 bash -c 'cat > /dev/tcp/127.0.0.1/18492'; done; wait) | tail -60"],
    "mosquitto.log": ["(timeout 4 mosquitto -v -p 18493 2>&1 & sleep 1; for n in 1 2 3 4 5; do printf '\\x10\\x0f\\x00\\x04MQTT\\x04\\x02\\x00\\x3c\\x00\\x03sh%s' $n | timeout 1 bash -c 'cat > /dev/tcp/127.0.0.1/18493'; done; wait)"],
    "rsync.log": ["rm -rf /tmp/fresh-copy; rsync -avv --log-file=/tmp/fresh-rsync.log $REPO/docs /tmp/fresh-copy >/dev/null; tail -90 /tmp/fresh-rsync.log"],
    "ffmpeg.log": ["ffmpeg -hide_banner -loglevel debug -f lavfi -i testsrc=duration=1 -f null - | tr '\\r' '\\n' | head -120", "ffmpeg -hide_banner -loglevel verbose+level -f lavfi -i sine=duration=1 -f null - | tr '\\r' '\\n'"],
    "wget.log": ["wget -d -O /dev/null https://pypi.org/simple/six/"],
    "aria2.log": ["aria2c --allow-overwrite=true -d /tmp --log=- --log-level=debug https://pypi.org/simple/six/ | head -120"],
    "ansible.log": ["ANSIBLE_NOCOLOR=1 ansible localhost -vvv -m setup -a filter=ansible_dist*", "ANSIBLE_DEBUG=1 ansible localhost -m ping | head -90"],
    "ssh.log": ["mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f /tmp/fresh-key <<< y >/dev/null; timeout 4 $(command -v sshd) -ddd -D -p 18494 -h /tmp/fresh-key & sleep 1; ssh -vvv -o BatchMode=yes -o StrictHostKeyChecking=no -p 18494 127.0.0.1; wait"],
    "named.log": ["timeout 4 named -g -p 18495 -d 2 -c /dev/null | head -120"],
    "mariadb.log": ["rm -rf /tmp/fresh-maria; mkdir /tmp/fresh-maria; timeout 6 mariadbd --no-defaults --user=root --datadir=/tmp/fresh-maria --skip-networking --socket=/tmp/fresh-m.sock --log-warnings=9"],
    "borg.log": ["export BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes; rm -rf /tmp/fresh-borg; borg init --debug -e none /tmp/fresh-borg; borg create --debug --list /tmp/fresh-borg::one $REPO/docs"],
    "tcpdump.log": ["(timeout 5 tcpdump -l -n -i lo -c 60 2>&1 & sleep 1; (python3 -m http.server 18496 --bind 127.0.0.1 >/dev/null 2>&1 & P=$!; sleep 1; for n in 1 2 3; do curl -s -o /dev/null http://127.0.0.1:18496/; done; kill $P); wait)"],
    "uvicorn.log": [_file("app.py", "async def app(scope, receive, send):\n    if scope['type'] != 'http': return\n    if scope['path'].endswith('7'): raise ValueError('no berth')\n    await send({'type': 'http.response.start', 'status': 200, 'headers': []}); await send({'type': 'http.response.body', 'body': b'x'})", f"(timeout 7 uvicorn --port 18490 --log-level trace app:app 2>&1 & sleep 4; {_GETS}; wait) | head -150")],
    "gunicorn.log": [_file("wsgi.py", "def app(env, start): start('200 OK', []); return [b'x']", f"(timeout 7 gunicorn --log-level debug --access-logfile - -b 127.0.0.1:18490 wsgi:app 2>&1 & sleep 4; {_GETS}; wait) | tail -40")],
    "scrapy.log": ["timeout 30 scrapy fetch https://pypi.org/simple/six/ 2>&1 >/dev/null | head -90"],
    "twisted.log": ["(timeout 6 twistd -n web --listen tcp:18490:interface=127.0.0.1 --path /tmp 2>&1 & sleep 3; " + _GETS + "; wait)"],
    "import-trace.log": ["python3 -v -c 'import json' | head -120", "python3 -X importtime -c 'import json, asyncio' | head -90"],
    "v8.log": ["node --trace-deopt --trace-opt -e 'let s=0;function f(x){return x+1}for(let i=0;i<1e6;i++)s+=f(i);f(\"a\")' | head -90"],
    "dpkg-debug.log": ["dpkg-query -D1 -l 'g*' | head -5; apt-get -o Debug::pkgPolicy=1 -o Debug::Acquire::http=1 -s install gimp | head -120"],
    "inotify.log": [_file("watch.py", "import logging.handlers, sys, random\nrandom.seed(4)\nfor n in range(80): print(f'{n//60:02}m{n%60:02}s', random.choice(['gate','crane','pump']), random.choice([f'opened for ship {random.randrange(99)}', f'reports {random.random():.2f} bar', f'lost link to berth {random.randrange(9)}']))", "python3 watch.py")],
    # Test runners.
    "sugar.test": ["cd py_tests && pytest -p pytest_sugar --force-sugar"],
    "ward.test": [_file("test_w.py", "from ward import test\nfor n in range(9):\n    @test(f'crate {n} is weighed')\n    def _(n=n): assert n % 5 == (0 if n == 7 else n % 5)", "ward --path .")],
    "testtools.test": ["cd green && python3 -m testtools.run test_basket"],
    "zope.test": ["cd green && zope-testrunner --test-path=. -vv -t . -m test_basket"],
    "trial.test": ["cd green && trial test_basket", "cd green && trial --reporter=text test_basket"],
    "bdd.test": [_file("test_b.py", "from pytest_bdd import scenarios, given, then, parsers\nscenarios('b.feature')\n@given(parsers.parse('{n:d} crates'), target_fixture='n')\ndef g(n): return n\n@then(parsers.parse('it holds {m:d}'))\ndef t(n, m): assert n == m", "printf 'Feature: Basket\\n  Scenario: weighs\\n    Given 4 crates\\n    Then it holds 4\\n  Scenario: fails\\n    Given 4 crates\\n    Then it holds 5\\n' > b.feature; pytest --gherkin-terminal-reporter -vv test_b.py")],
    "uvu.test": [_file("uvu.cjs", "const {test} = require('uvu'); const assert = require('uvu/assert');\nfor (let n = 0; n < 9; n++) test(`crate ${n}`, () => { assert.is(n % 4, n === 7 ? 0 : n % 4); });\ntest.run();", "NODE_PATH=$NODE/node_modules node uvu.cjs")],
    "qunit.test": [_file("q.js", "QUnit.module('basket');\nfor (let n = 0; n < 9; n++) QUnit.test(`crate ${n}`, a => a.equal(n % 4, n === 7 ? 0 : n % 4));", "qunit q.js")],
    "cucumber.test": [_file("features/b.feature", "", "mkdir -p features/step_definitions; printf 'Feature: Basket\\n  Scenario: weighs\\n    Given 4 crates\\n    Then it holds 4\\n  Scenario: fails\\n    Given 4 crates\\n    Then it holds 5\\n  Scenario: sails\\n    Given a ship\\n' > features/b.feature; printf 'const {Given, Then} = require(\"@cucumber/cucumber\"); const assert = require(\"assert\"); let n; Given(\"{int} crates\", c => { n = c }); Then(\"it holds {int}\", c => assert.equal(n, c));' > features/step_definitions/s.js; NODE_PATH=$NODE/node_modules cucumber-js").replace("mkdir -p fresh &&", "mkdir -p fresh/features &&", 1)],
    "busted.test": [_file("b_spec.lua", "describe('basket', function() for n = 0, 8 do it('weighs crate '..n, function() assert.are.equal(n == 7 and 0 or n % 4, n % 4) end) end it('names', function() assert.same({a=1},{a=2}) end) pending('sails') end)", f"busted -o {form} b_spec.lua") for form in ("plainTerminal", "TAP", "gtest", "utfTerminal")],
    "check.test": [_file("c.c", "#include <check.h>\nSTART_TEST(weighs) { ck_assert_int_eq(_i % 4, _i == 7 ? 0 : _i % 4); } END_TEST\nSTART_TEST(names) { ck_assert_str_eq(\"Bergen\", \"Narvik\"); } END_TEST\nint main(void) { Suite *s = suite_create(\"Basket\"); TCase *t = tcase_create(\"Core\"); tcase_add_loop_test(t, weighs, 0, 9); tcase_add_test(t, names); suite_add_tcase(s, t); SRunner *r = srunner_create(s); srunner_run_all(r, CK_VERBOSE); return 0; }", "gcc -w c.c -o ct $(pkg-config --cflags --libs check) && ./ct")],
    "cppunit.test": [_file("u.cpp", "#include <cppunit/extensions/HelperMacros.h>\n#include <cppunit/ui/text/TestRunner.h>\nclass B : public CppUnit::TestFixture { CPPUNIT_TEST_SUITE(B); CPPUNIT_TEST(weighs); CPPUNIT_TEST(names); CPPUNIT_TEST(sails); CPPUNIT_TEST_SUITE_END(); public: void weighs() { CPPUNIT_ASSERT_EQUAL(4, 4); } void names() { CPPUNIT_ASSERT_EQUAL(std::string(\"Bergen\"), std::string(\"Narvik\")); } void sails() { CPPUNIT_ASSERT(1 == 2); } };\nint main() { CppUnit::TextUi::TestRunner r; r.addTest(B::suite()); r.run(); }", "g++ -w u.cpp -o ut -lcppunit && ./ut")],
    "eunit.test": [_file("b_tests.erl", "-module(b_tests).\n-include_lib(\"eunit/include/eunit.hrl\").\nweighs_test() -> ?assertEqual(4, 4).\nnames_test() -> ?assertEqual(bergen, narvik).\nleaves_test() -> ok.\nsails_test() -> error(no_wind).", "erlc b_tests.erl && erl -noshell -eval 'eunit:test(b_tests, [verbose]), halt().'")],
    "srfi64.test": [_file("t.scm", "(use-modules (srfi srfi-64))\n(test-begin \"basket\")\n(test-equal \"weighs\" 4 4)\n(test-equal \"names\" \"Bergen\" \"Narvik\")\n(test-assert \"sails\" #f)\n(test-equal \"leaves\" 1 1)\n(test-end)", "guile --no-auto-compile t.scm; cat basket.log")],
    "rackunit.test": [_file("t.rkt", "#lang racket\n(require rackunit)\n(for ([n 9]) (test-case (format \"crate ~a\" n) (check-equal? (modulo n 4) (if (= n 7) 0 (modulo n 4)))))\n(check-equal? \"Bergen\" \"Narvik\")", "raco test t.rkt")],
    "nim.test": [_file("t.nim", "import unittest\nsuite \"basket\":\n  test \"weighs\": check 4 == 4\n  test \"names\": check \"Bergen\" == \"Narvik\"\n  test \"leaves\": check 1 == 1\n  test \"sails\": raise newException(ValueError, \"no wind\")", "nim c -r --hints:off --verbosity:0 t.nim")],
    "cram.test": [_file("dune-project", "(lang dune 2.7)\n(cram enable)", "printf '  $ echo Bergen\\n  Narvik\\n  $ seq 3\\n  1\\n  2\\n  4\\n' > b.t; dune test")],
    "meson.test": [_file("meson.build", "project('basket')\nforeach n : range(9)\n  test('crate @0@'.format(n), find_program('test'), args: [n.to_string(), '-ne', '7'])\nendforeach", "meson setup mb >/dev/null; meson test -C mb; meson test -C mb --print-errorlogs -v")],
    "automake.test": [_file("configure.ac", "AC_INIT([basket],[1])\nAM_INIT_AUTOMAKE([foreign])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT", "printf 'TESTS = a.sh b.sh c.sh d.sh e.sh\\n' > Makefile.am; for t in a b c d e; do printf '#!/bin/sh\\ntest %s != c\\n' $t > $t.sh; chmod +x $t.sh; done; (autoreconf -i && ./configure) >/dev/null 2>&1; make check")],
    "sphinx-doctest.test": [_file("index.rst", "Basket\n======\n\n.. doctest::\n\n   >>> 2 + 2\n   4\n   >>> 'Bergen'\n   'Narvik'\n   >>> 1 / 0\n   1", "echo \"extensions = ['sphinx.ext.doctest']\" > conf.py; sphinx-build -b doctest . out")],
    "testmore.test": [_file("t.pl", "use Test::More;\nis($_ % 4, $_ == 7 ? 0 : $_ % 4, \"crate $_\") for 0..8;\nis_deeply({port => 'Bergen'}, {port => 'Narvik'}, 'harbour');\ndone_testing;", "perl t.pl")],
    "stestr.test": [_file(".stestr.conf", "[DEFAULT]\ntest_path=.", "cp ../green/test_basket.py . && stestr init; stestr run test_basket")],
    # Compilers and linters.
    "gfortran.build": [_file("a.f90", _shell("subroutine berth@(n)\n  integer :: n\n  n = 'x'\n  call crane(n, undefined_@)\n  integre :: m\nend subroutine\n"), "gfortran -Wall -c a.f90")],
    "fpc.build": [_file("a.pas", "program harbour;\n" + _shell("procedure berth@; var n: integer; begin n := 'x'; m@ := 3; crane(n) end;\n") + "begin end.", "fpc a.pas")],
    "gnat.build": [_file("a.adb", "procedure A is\n" + _shell("   procedure Berth@ is\n      N : Integer;\n   begin\n      N := \"x\";\n      M@ := 3;\n   end Berth@;\n") + "begin null; end A;", "gnatmake a.adb")],
    "nasm.build": [_file("a.asm", _shell("berth@:\n  mov eax, [crane@]\n  movv ebx, 1\n  mov 5, eax\n"), "nasm -f elf64 a.asm")],
    "ghc.build": [_file("A.hs", "module Main where\n" + _shell("berth@ :: Int -> Int\nberth@ n = n ++ \"x\"\ncrane@ = undefinedThing@\n") + "main = return ()", "ghc -Wall A.hs")],
    "ocaml.build": [_file("a.ml", "let f n = n + 1\nlet g = f \"x\"\n", "for n in 1 2 3 4; do sed \"s/g/g$n/\" a.ml > a$n.ml; ocamlopt -c a$n.ml; done")],
    "nim.build": [_file("n.nim", _shell("proc berth@(n: int): int =\n  let unused@ = 3\n  result = n + 1\n") + "echo berth1(\"x\")", "nim check n.nim")],
    "erlc.build": [_file("a.erl", "-module(a).\n-export([berth/1, gone/2]).\n" + _shell("crane@(N) -> M@ + 1.\n") + "berth(N) -> crane(N, 2).", "erlc +verbose a.erl")],
    "iverilog.build": [_file("a.v", "module berth(input a, output b);\n" + _shell("  assign c@ = a + undefined_@;\n  wirre w@;\n") + "endmodule", "iverilog a.v")],
    "verilator.build": [_file("b.v", "module berth(input [3:0] a, output [7:0] b);\n" + _shell("  wire [7:0] w@ = a;\n  assign b = missing_@;\n") + "endmodule", "verilator --lint-only -Wall b.v")],
    "shellcheck.build": [_file("a.sh", "#!/bin/bash\n" + _shell("for f in $(ls *.txt); do echo $f > $out@; done\nif [ $x@ = y ]; then cd $d; fi\n"), run) for run in ("shellcheck a.sh", "shellcheck -f gcc a.sh")],
    "cppcheck.build": [_file("b.c", "#include <stdlib.h>\n" + _shell("int berth@(void) { int a[3]; int *p = malloc(4); a[5] = 1; return *p; }\n"), "cppcheck --enable=all b.c")],
    "yamllint.build": [_file("a.yaml", _shell("berth@:\n   - crane:   1\n   - {a: 1,b: 2 }\n   - yes\nberth@: 2\n"), run) for run in ("yamllint a.yaml", "yamllint -f parsable a.yaml")],
    "tidy.build": [_file("a.html", "<html>" + _shell("<div><p>berth @<b>x</div><img src=a@.png><blink>y</blink>\n"), "tidy -e a.html")],
    "latex.build": [_file("a.tex", "\\documentclass{article}\\begin{document}\n" + _shell("Berth @ \\undefinedthing and $x^2_1^3$ \\ref{no@}\n\n") + "\\end{document}", "pdflatex -interaction=nonstopmode -file-line-error a.tex")],
    "doxygen.build": [_file("d.h", _shell("/** Berth @. @param m none\n * @ref nowhere@ \\badcommand */\nint berth@(int n);\n"), "doxygen -g >/dev/null; doxygen Doxyfile")],
    "xmllint.build": [_file("a.xml", "<harbour>\n" + _shell("<berth id=@><crane></berth>\n") + "</harbour>", "xmllint --noout a.xml")],
    "sphinx.build": [_file("index.rst", "Basket\n===\n\n" + _shell(":ref:`gone@` and :nope:`x`\n\n.. unknown@:: y\n\n"), "echo > conf.py; sphinx-build -b html . out2")],
    "stylelint.build": [_file("a.css", _shell(".berth@ { colr: red; color: #ggg; margin: 0px; margin: 1px }\n"), "printf '{\"rules\":{\"property-no-unknown\":true,\"color-no-invalid-hex\":true,\"declaration-block-no-duplicate-properties\":true}}' > .stylelintrc.json; stylelint a.css")],
    "jshint.build": [_file("j.js", _shell("var x@ = y@\nif (x@ = 3) { crane( }\n"), "jshint j.js")],
    "markdownlint.build": [_file("a.md", _shell("#Berth @\n* a\n- b\n\n\n\n[x]()\n"), "markdownlint a.md")],
    "htmlhint.build": [_file("h.html", _shell("<div id=b><p>berth @<img src=a></div>\n"), "htmlhint h.html")],
    "bandit.build": [_file("b.py", _shell("import pickle, subprocess\nsubprocess.call('ls @', shell=True)\npickle.loads(b'@')\n"), "bandit -r b.py")],
    "sqlfluff.build": [_file("a.sql", _shell("SELECT a.id,b.name from berth@ a JOIN crane b on a.id=b.id where a.n=1 ;\n"), "sqlfluff lint --dialect ansi a.sql")],
    "basedpyright.build": ["cd bad_py && basedpyright ."],
    "ty.build": ["cd bad_py && ty check .", "cd bad_py && ty check --output-format concise ."],
    "perl-c.build": [_file("a.pl", "use strict; use warnings;\n" + _shell("my $berth@ = $crane@ + 1;\nprint $ship@;\n"), "perl -c a.pl")],
    "ruby-wc.build": [_file("a.rb", _shell("def berth@(n)\n  m = 3\n  if n = 4 then 5 end\nend\n") + "end", "ruby -wc a.rb")],
    "luac.build": [_file("a.lua", "local x = = 3", "for n in 1 2 3 4 5 6; do sed \"s/x/x$n/\" a.lua > l$n.lua; luac -p l$n.lua; done")],
    "scons.build": [_file("SConstruct", "Program('harbour', ['s1.c', 's2.c', 's3.c'])", "for n in 1 2 3; do printf 'int f%s(void) { return g%s(; }\\nint h(void) { return undeclared; }\\n' $n $n > s$n.c; done; scons -k")],
    "meson-build.build": [_file("meson.build", "project('b', 'c')\nexecutable('b', ['m1.c', 'm2.c', 'm3.c'])", "for n in 1 2 3; do printf 'int f%s(void) { return g%s(; }\\nint h(void) { return undeclared; }\\n' $n $n > m$n.c; done; rm -rf mb2; meson setup mb2; ninja -k 0 -C mb2")],
    "mcs-python.build": [_file("p.py", _PARTS, "for n in 1 2 3 4 5 6; do python3 -m py_compile p.py; python3 -m tabnanny p.py; done")],
}  # fmt: skip
