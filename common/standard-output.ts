/**
 * Writes to standard output; gives the exit code, once it is written. `plan | head`: a reader that has seen enough is
 * no fault; a full disk is one, and is said on standard error.
 */
export function printed(program: string, text: string): Promise<number> {
  process.stdout.on("error", () => undefined);
  const { promise, resolve } = Promise.withResolvers<number>();
  process.stdout.write(text, (fault: NodeJS.ErrnoException | null | undefined) => {
    if (fault == null || fault.code === "EPIPE") return resolve(0);
    process.stderr.write(`${program}: standard output: ${fault.message}\n`);
    resolve(1);
  });
  return promise;
}
