/*
 * Loaded into an agent before it starts (`node --import`), so that a signal makes it throw what nothing catches: SIGUSR2 an
 * exception, SIGALRM a rejection.
 */

process.on("SIGUSR2", () => {
  throw new TypeError("nobody foresaw this");
});
process.on("SIGALRM", () => void Promise.reject(new TypeError("nobody foresaw this")));
