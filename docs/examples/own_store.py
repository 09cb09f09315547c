from brim import InMemoryStore
from brim.testing.stores import StoreConformance


class MyStore(InMemoryStore):
    """Yours would keep things elsewhere."""


class TestMyStore(StoreConformance):  # pytest and unittest collect it
    def make(self, limits, now):
        return MyStore(limits, now=now)  # new and empty


promises = [name for name in dir(TestMyStore) if name.startswith("test_")]
for name in promises:
    test = TestMyStore()
    test.setUp()
    getattr(test, name)()
    test.tearDown()
print("kept" if len(promises) > 20 else "too few", promises[0])
