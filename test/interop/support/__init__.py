"""What the interop tests share: processes under test, a proxy that watches, and the clients that drive them."""
