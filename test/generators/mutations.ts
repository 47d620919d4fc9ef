import fc from "fast-check";

/** Texts that mean something to iptables-restore, a shell, a terminal, a log or a JavaScript object. */
const HOSTILE_TEXTS = [
  ...["__proto__", "constructor", "", "\n", "a\nCOMMIT\n*filter\n-A INPUT -j ACCEPT\nCOMMIT\n#"],
  ...['a" -j ACCEPT', "a\\", "a -j ACCEPT", "a\0b", "a\u2028b", "a\u202eb", "x".repeat(300)],
  ...["10.2.0.1 -j ACCEPT", "10.2.0.1\n", "10.2.0.1:1-65535", "::ffff:10.2.0.1", "fe80::1%eth0"],
  "127.0.0.1",
];

const hostileValue = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(...HOSTILE_TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(null, 0, -1, 65536, 1.5, true, [], {}) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }) },
);

type Path = readonly string[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const below = Object.entries(value).flatMap(([key, one]) => pathsOf(one, [...path, key]));
  return [path, ...below];
}

function replaced(value: unknown, [first, ...rest]: Path, by: (old: unknown) => unknown): unknown {
  if (first === undefined) return by(value);
  if (typeof value !== "object" || value === null) return value;
  const copy: unknown[] | Record<string, unknown> = Array.isArray(value)
    ? [...value]
    : { ...value };
  Reflect.set(copy, first, replaced(Reflect.get(copy, first), rest, by));
  return copy;
}

/**
 * `object` with up to three of its parts, small or large, replaced by something hostile; a text may also
 * have something hostile added to it.
 */
export function mutated(object: unknown): fc.Arbitrary<unknown> {
  const mutation = fc.record({
    path: fc.constantFrom(...pathsOf(object)),
    value: hostileValue,
    added: fc.boolean(),
  });
  return fc
    .array(mutation, { maxLength: 3 })
    .map((mutations) =>
      mutations.reduce(
        (current, { path, value, added }) =>
          replaced(current, path, (old) =>
            added && typeof old === "string" && typeof value === "string" ? old + value : value,
          ),
        object,
      ),
    );
}
