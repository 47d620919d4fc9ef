/** An image with another tag; undefined if it is named by a digest, which no version follows from. PURE. */
export function withTag(image: string, tag: string): string | undefined {
  if (image.includes("@")) return undefined;
  // The registry may have a port.
  return `${image.replace(/:[^/:]*$/, "")}:${tag}`;
}
