/** Bytes of a block: headers have one, and contents are padded to whole ones. */
const BLOCK = 512;
/** Octal digits of each number, and where the fields of a header begin (POSIX ustar). */
const NAME = { at: 0, length: 100 };
const PREFIX = { at: 345, length: 155 };
const CHECKSUM = { at: 148, length: 8 };

/** A regular file of an archive, with its padding. Throws a RangeError if the path is too long. PURE. */
export function entry(path: string, content: Buffer, seconds: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const text = (value: string, at: number) => header.write(value, at, "utf8");
  const number = (value: number, at: number, length: number) =>
    text(value.toString(8).padStart(length - 1, "0"), at);
  const { prefix, name } = split(path);
  text(name, NAME.at);
  number(0o644, 100, 8);
  number(0, 108, 8);
  number(0, 116, 8);
  number(content.length, 124, 12);
  number(seconds, 136, 12);
  text("0", 156);
  text("ustar\0", 257);
  text("00", 263);
  text(prefix, PREFIX.at);
  // As if the checksum were spaces.
  header.fill(" ", CHECKSUM.at, CHECKSUM.at + CHECKSUM.length);
  const sum = header.reduce((total, byte) => total + byte, 0);
  text(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM.at);
  return Buffer.concat([header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}

/** What ends an archive. */
export const END = Buffer.alloc(2 * BLOCK);

function split(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= NAME.length) return { prefix: "", name: path };
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (Buffer.byteLength(prefix) <= PREFIX.length && Buffer.byteLength(name) <= NAME.length)
      return { prefix, name };
  }
  throw new RangeError(`${path}: too long for an archive`);
}
