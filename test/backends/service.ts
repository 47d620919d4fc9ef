import { FAMILIES } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import { importObject, sliceObject } from "../generators/objects.ts";

export const HTTP = { name: "http", port: 80, protocol: "TCP" };

/** What is special about a service: where its endpoints are, and more of its import's spec. */
interface More {
  readonly cluster?: string;
  readonly spec?: object;
}

/** An import of one port, and its endpoints at port 8080 in c1 or another cluster: a slice for each family. */
export function service(
  key: ObjectKey,
  vips: readonly string[],
  addresses: readonly string[],
  { cluster = "c1", spec = {} }: More = {},
): object[] {
  const origin = { cluster, region: "eu-west" };
  const slices = FAMILIES.map((family) => {
    const own = addresses.filter((address) => address.includes(":") === (family === "IPv6"));
    const name = `${key.split("/")[1]}-${cluster}-${family.toLowerCase()}`;
    return {
      ...sliceObject(name, key, origin, [{ ...HTTP, port: 8080 }], own),
      addressType: family,
    };
  });
  return [importObject(key, vips, [HTTP], spec), ...slices];
}
