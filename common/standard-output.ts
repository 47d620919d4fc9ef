/** Writes to standard output; returns the exit code. A closed pipe (`plan | head`) is not an error. */
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
