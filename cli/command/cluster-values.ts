import { InvalidArgumentError } from "commander";

/** A parser of `CONTEXT=VALUE`, for a flag that may be repeated. `check`: why a value is wrong. */
export function byContext(
  check: (value: string) => string | undefined,
): (text: string, before?: ReadonlyMap<string, string>) => ReadonlyMap<string, string> {
  return (text, before = new Map()) => {
    // Contexts such as an ARN have no equals sign, but URLs of API servers may.
    const end = text.indexOf("=");
    if (end < 1) throw new InvalidArgumentError("Expected CONTEXT=VALUE.");
    const [context, value] = [text.slice(0, end), text.slice(end + 1)];
    const why = check(value);
    if (why !== undefined) throw new InvalidArgumentError(why);
    return new Map([...before, [context, value]]);
  };
}
