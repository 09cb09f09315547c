"""Programs whose output no rule was written for: `capture-commands --unseen` runs these in place of commands.py.

A format's name ends in the kind that its text is: "rspec.test", "redis.log".
"""

# ruff: noqa: E501

from __future__ import annotations

_JUNIT = "CP=/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar:/usr/share/java/hamcrest.jar:."


def _cc(folder: str, flags: str, *runs: str) -> list[str]:
    build = f"cd {folder} && g++ -std=c++17 -w -o t basket.* {flags}"
    return [f"({build}) >/dev/null 2>&1; cd $WORK/{folder} && ./t {run}" for run in runs]


def _py(form: str, dates: str = "") -> list[str]:
    return [f"python3 logs/pylog.py '{form}' {dates!r}".replace(" ''", "")]


UNSEEN: dict[str, list[str]] = {
    "vitest.test": ["cd vitest && NODE_PATH=$NODE/node_modules vitest run --root . --dir .", "cd vitest && vitest run --reporter=verbose", "cd vitest && vitest run --reporter=tap"],
    "ava.test": ["cd ava && ln -sf $NODE/node_modules . && ava test.cjs", "cd ava && ln -sf $NODE/node_modules . && ava --tap test.cjs"],
    "tape.test": ["cd tape && NODE_PATH=$NODE/node_modules node test.js"],
    "jasmine.test": ["cd jasmine && jasmine spec/*.js", "cd jasmine && jasmine --random=false spec/*.js"],
    "node-tap.test": ["cd js_tests && node --test --test-reporter=tap node_a.js", "cd js_tests && node --test --test-reporter=dot node_a.js"],
    "rspec.test": ["cd rspec && rspec basket_spec.rb", "cd rspec && rspec -f documentation basket_spec.rb", "cd rspec && rspec -f progress -b basket_spec.rb"],
    "minitest.test": ["ruby minitest/test_basket.rb", "ruby minitest/test_basket.rb -v"],
    "phpunit.test": ["cd phpunit && phpunit BasketTest.php", "cd phpunit && phpunit --testdox BasketTest.php", "cd phpunit && phpunit --debug BasketTest.php"],
    "bats.test": ["bats bats/basket.bats", "bats --tap bats/basket.bats", "bats -p bats/basket.bats"],
    "ctest.test": ["cd ctest && cmake -S . -B b >/dev/null && cd b && ctest", "cd ctest && cmake -S . -B b >/dev/null && cd b && ctest -V", "cd ctest && cmake -S . -B b >/dev/null && cd b && ctest --output-on-failure -j2"],
    "robot.test": ["cd robot && robot basket.robot", "cd robot && robot --console dotted basket.robot"],
    "behave.test": ["cd behave && behave", "cd behave && behave -f progress", "cd behave && behave --no-capture -f plain"],
    "green.test": ["cd green && green -v", "cd green && green -vv ."],
    "nose.test": ["cd green && python3 -m nose2", "cd green && python3 -m unittest -v"],
    "django.test": ["cd djangotests && PYTHONPATH=. DJANGO_SETTINGS_MODULE=settings django-admin test basket", "cd djangotests && PYTHONPATH=. DJANGO_SETTINGS_MODULE=settings django-admin test -v 2 basket"],
    "doctest.test": ["python3 -m doctest doctests/basket.py", "python3 -m doctest -v doctests/basket.py"],
    "gotest.test": ["cd gotests && go test ./...", "cd gotests && go test -v ./...", "cd gotests && go test -bench=. -benchmem -v", "cd gotests && go test -run Weigh -v"],
    "gtest.test": _cc("gtest", "-lgtest -lgtest_main -lpthread", "", "--gtest_brief=1", "--gtest_filter=*Weighs*"),
    "catch2.test": _cc("catch2", "", "", "-s", "-r compact"),
    "doctestcc.test": _cc("doctestcc", "", "", "-s"),
    "boosttest.test": _cc("boosttest", "", "", "--log_level=all", "--report_level=detailed"),
    "cmocka.test": ["cd cmocka && gcc -o t basket.c -lcmocka && ./t"],
    "shunit.test": ["cd shunit && sh basket_test.sh"],
    "exunit.test": ["elixir exunit/basket_test.exs", "elixir exunit/basket_test.exs --trace"],
    "tcltest.test": ["tclsh tcltests/basket.test", "tclsh tcltests/basket.test -verbose bpste"],
    "junit4.test": [f"cd junit4 && {_JUNIT}; javac -cp $CP BasketTest.java && java -cp $CP org.junit.runner.JUnitCore BasketTest"],
    "go-build.build": ["cd badgo && go build ./...", "cd badgo && go vet ./...", "cd badgo && go build -gcflags=-e ./..."],
    "php-lint.build": ["for f in badphp/*.php; do php -l $f; php $f; done"],
    "clang.build": ["cd bad_c && clang -c one.c", "cd bad_c && clang -Wall -c two.c", "cd bad_c && clang++ -c bad.cpp"],
    "make-c.build": ["cd bad_c && make -k -j2 CC=gcc app"],
    "ninja.build": ["cd cmake_c && cmake -G Ninja -B n . ; ninja -C n -v; ninja -C n"],
    "rustc.build": ["cd bad_rust && rustc --edition 2021 src/main.rs", "cd bad_rust && rustc --error-format=short src/main.rs"],
    "linters.build": ["cd bad_py && pyflakes .", "cd bad_py && pycodestyle .", "cd bad_py && pylint --output-format=colorized one.py"],
    "postgres.log": ["tail -200 $PG/log", "head -30 $PG/log"],
    "npm-debug.log": ["ls ~/.npm/_logs/*debug-0.log | tail -1 | xargs head -150", "ls ~/.npm/_logs/*debug-0.log | head -1 | xargs head -80", "cd n1 2>/dev/null || mkdir n1; npm view express --loglevel silly"],
    "pip-verbose.log": ["pip download -vvv --no-deps --no-cache-dir -d /tmp six | head -120", "pip index versions six -vvv"],
    "git-trace.log": ["cd $REPO && GIT_TRACE=1 GIT_TRACE_SETUP=1 git status -s", "cd $REPO && GIT_TRACE2=1 git log -1", "cd $REPO && GIT_TRACE_PERFORMANCE=1 GIT_TRACE=1 git diff --stat HEAD~3"],
    "ld-debug.log": ["LD_DEBUG=libs ls /", "LD_DEBUG=bindings ls / | head -120", "LD_DEBUG=files git --version"],
    "java-gc.log": ["cd bad_java && java -Xlog:gc*:stdout:time,level,tags -Xmx16m Fine.java", "cd bad_java && java -Xlog:class+load Fine.java | head -200", "cd bad_java && java -Xlog:gc*,safepoint:stdout:uptime Fine.java"],
    "node-debug.log": ["NODE_DEBUG=module node -e 'require(\"http\")' | head -60", "node --trace-gc -e 'let a=[];for(let i=0;i<3e6;i++)a.push({i})'", "NODE_DEBUG=http,net node -e 'require(\"http\").get(\"http://127.0.0.1:1\").on(\"error\",()=>{})'"],
    "go-trace.log": ["cd gotests && GODEBUG=gctrace=1 go build ./...", "cd gotests && GODEBUG=inittrace=1 go version", "go run logs/golog.go"],
    "jul.log": ["cd logs && java Jul.java", "ruby logs/rubylog.rb"],
    "python-logging.log": [
        *_py("%(asctime)s | %(levelname)-8s | %(name)s:%(funcName)s:%(lineno)d - %(message)s"),
        *_py("%(levelname)s:%(name)s:%(message)s"),
        *_py("[%(process)d] %(relativeCreated)08d %(name)s> %(message)s"),
        *_py("%(message)s [%(name)s @ %(asctime)s]", "%d.%m.%y %H.%M"),
        *_py("%(name)s %(levelname).1s %(thread)x: %(message)s"),
        *_py("(%(asctime)s) {%(name)s} %(message)s", "%a %j %I:%M:%S %p"),
    ],
    "http-server.log": ["cd $REPO/docs && (timeout 4 python3 -u -m http.server 18481 --bind 127.0.0.1 2>&1 & sleep 1; for f in *.md; do curl -so /dev/null http://127.0.0.1:18481/$f; done; wait)"],
    "redis.log": ["timeout 2 redis-server --port 18482 --save '' --dir /tmp --loglevel debug", "timeout 2 redis-server --port 18483 --loglevel verbose --dir /tmp --dbfilename x.rdb --save 1 1"],
    "apt-debug.log": ["apt-get -s -o Debug::pkgProblemResolver=1 -o Debug::pkgDepCache::AutoInstall=1 install gimp | head -150", "dpkg -D77 -l bash | head -60; zcat -f /var/log/dpkg.log* | tail -90"],
    "tracing.log": ["bash -x /etc/init.d/cron status", "strace -ttt -f -e trace=file git --version", "ltrace -tt ls / | head -100"],
    "mvn-debug.log": ["cd bad_maven && mvn -X -o validate | head -200"],
    "curl-trace.log": ["curl -s -o /dev/null --trace-time -v https://pypi.org/simple/six/", "curl -s -o /dev/null --trace-ascii - https://pypi.org/simple/six/ | head -90"],
    "cargo-log.log": ["cd warn_rust && touch src/main.rs && CARGO_LOG=debug cargo check | head -120"],
    "apt-history.log": ["cat /var/log/apt/history.log", "tail -120 /var/log/apt/term.log"],
}  # fmt: skip
