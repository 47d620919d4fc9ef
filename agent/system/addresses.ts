import { networkInterfaces } from "node:os";

/** The addresses of this network namespace's interfaces, as the kernel spells them. */
export function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address),
  );
}
