import assert from "node:assert/strict";
import { test } from "node:test";
import { servicePort } from "../../test/generators/export-records.ts";
import { joint, ownNames } from "./port-names.ts";

// `importedNames`: controller/import/imported-slices.test.ts.

/** Own ports, and those of the import that they serve; the import has `http 80` and `admin 81`. */
const OWN: readonly (readonly [own: string[], serves: string[]])[] = [
  [
    ["http 80", "admin 81"],
    ["http as http", "admin as admin"],
  ],
  [["web 80"], ["http as web"]],
  [["80"], ["http as "]],
  // A proxy knows no numbers of other clusters.
  [["http 8080"], ["http as http"]],
  [["http 8080", "web 80"], ["http as http"]],
  [["admin 80"], ["admin as admin"]],
  [
    ["http 81", "admin 80"],
    ["http as http", "admin as admin"],
  ],
  [["web 80/UDP"], []],
  [["web 82"], []],
];

for (const [own, serves] of OWN) {
  test(`a Service with ${own.join(", ")} serves ${serves.join(", ") || "nothing"}`, () => {
    const imported = ["http 80", "admin 81"].map(servicePort);
    const names = ownNames(own.map(servicePort), imported);
    const found = imported.flatMap((port) => {
      const name = names.get(joint(port));
      return name === undefined ? [] : [`${port.name} as ${name}`];
    });
    assert.deepEqual(found, serves);
    assert.equal(names.size, serves.length);
  });
}
