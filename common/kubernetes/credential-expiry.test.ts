import assert from "node:assert/strict";
import { test } from "node:test";
import { CertificateAuthority } from "../../test/apiserver/certificates.ts";
import { expiriesOf } from "./credential-expiry.ts";

const jwt = (claims: object): string =>
  ["e30", Buffer.from(JSON.stringify(claims)).toString("base64url"), "c2ln"].join(".");
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, tls: {} });

test("a token expires when its claim says so, and is distinguished from one in a file that is replaced", () => {
  const access = bearer(jwt({ exp: 1_800_000_000, sub: "system:serviceaccount:a:b" }));
  assert.deepEqual(expiriesOf(access, false), [{ credential: "token", at: 1_800_000_000 }]);
  assert.deepEqual(expiriesOf(access, true), [{ credential: "token-file", at: 1_800_000_000 }]);
});

test("a client certificate expires at the end of its validity", () => {
  const { certificate } = new CertificateAuthority("test").certify({ name: "peer" });
  const [one, ...more] = expiriesOf({ headers: {}, tls: { cert: certificate } }, false);
  assert.deepEqual(more, []);
  assert.equal(one?.credential, "certificate");
  // Certificates of tests are valid for a day.
  const hours = ((one?.at ?? 0) * 1000 - Date.now()) / 3_600_000;
  assert.ok(hours > 23 && hours <= 24, `${hours}`);
});

test("tokens without an end, and anything that is no credential, have no expiry", () => {
  for (const token of [jwt({}), jwt({ exp: "soon" }), jwt({ exp: null }), "opaque", "a.%%%.c"]) {
    assert.deepEqual(expiriesOf(bearer(token), false), [], token);
  }
  assert.deepEqual(expiriesOf({ headers: { authorization: "Basic YTpi" }, tls: {} }, false), []);
  assert.deepEqual(expiriesOf({ headers: {}, tls: { cert: "not PEM" } }, false), []);
});
