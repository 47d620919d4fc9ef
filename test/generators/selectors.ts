import fc from "fast-check";
import { LABEL_REGION, PROPERTY_CLUSTER_ID, PROPERTY_REGION } from "../../api/keys.ts";
import type { ClusterSelector, PropertyRequirement } from "../../api/tiers/cluster-selectors.ts";

/** Properties that clusters of the random worlds may have, beside what is known of all of them. */
const CONTINENT = "continent.example.com";
const GPU = "gpu.example.com";

const key = fc.constantFrom(PROPERTY_CLUSTER_ID, PROPERTY_REGION, LABEL_REGION, CONTINENT, GPU);
const value = fc.constantFrom(
  "@SameAsImporter@",
  "c1",
  "c2",
  "eu-west",
  "us-east",
  "europe",
  "big",
);

const requirement: fc.Arbitrary<PropertyRequirement> = fc.oneof(
  fc.record(
    {
      key,
      operator: fc.constantFrom("In", "NotIn"),
      values: fc.array(value, { minLength: 1, maxLength: 3 }),
    },
    { noNullPrototype: true },
  ),
  fc.record(
    {
      key,
      operator: fc.constantFrom("Exists", "DoesNotExist"),
      values: fc.constant([]),
    },
    { noNullPrototype: true },
  ),
);

/** Selectors as an import may have them. */
export const anySelectors: fc.Arbitrary<readonly ClusterSelector[]> = fc.array(
  fc.array(requirement, { minLength: 1, maxLength: 3 }),
  { maxLength: 4 },
);

/** Properties of a cluster, also wrong ones. */
export const anyProperties: fc.Arbitrary<ReadonlyMap<string, string>> = fc
  .uniqueArray(
    fc.tuple(key, fc.constantFrom("c1", "eu-west", "us-east", "europe", "asia", "big")),
    { selector: ([name]) => name, maxLength: 3 },
  )
  .map((entries) => new Map(entries));
