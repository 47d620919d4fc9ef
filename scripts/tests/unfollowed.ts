import asyncHooks from "node:async_hooks";

// Imported before the test runner begins: node --import ./scripts/tests/unfollowed.ts FILE. (Too late with "node --test".)
//
// Node's test runner follows each promise from its creation to its end, to know in which test an error was thrown that nothing
// caught. That takes a quarter of the processor time of all unit tests, and half of those that play clusters in memory. Without
// it such an error still fails the file, and the file's log shows it, but seldom with the test's name. Tests and timers are
// still followed: the runner finds the suite of a test that way.

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => {
  const isRunner = new Error("who asks").stack?.includes("node:internal/test_runner") === true;
  return createHook(isRunner ? { ...callbacks, trackPromises: false } : callbacks);
};
