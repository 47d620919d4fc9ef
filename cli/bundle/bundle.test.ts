import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FakeApiServer } from "../../test/doubles/fake-api-server.ts";
import { CommandLine } from "../../test/stages/command-line.ts";
import { withoutKnownTokens } from "./collect.ts";
import { LEFT_OUT, objectWithoutSecrets, textWithoutSecrets } from "./without-secrets.ts";
import { END, entry } from "./write-bundle.ts";

const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJlLW9mLXRva2Vu";

test("tokens, keys, certificates and passwords are left out wherever they stand in a text", () => {
  for (const secret of [
    JWT,
    "abcdef.0123456789abcdef",
    "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB\n-----END EC PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMHcC, and the log ends here",
  ]) {
    const text = textWithoutSecrets(`before ${secret}`);
    assert.equal(text, `before ${LEFT_OUT}`);
  }
  for (const [text, expected] of [
    ["Authorization: Bearer abc.def/1=", `Authorization: Bearer ${LEFT_OUT}`],
    ['{"token":"s3cret","a":1}', `{"token":${LEFT_OUT},"a":1}`],
    ["client-key-data: TUlJ\nx", `client-key-data: ${LEFT_OUT}\nx`],
    ["--password=hunter2 --v=1", `--password=${LEFT_OUT} --v=1`],
    ["https://ann:pw@proxy:3128/", `https://${LEFT_OUT}proxy:3128/`],
    ["Authorization: ApiKey abc-def", `Authorization: ${LEFT_OUT}`],
    ['{"authorization":"Digest x=1","a":1}', `{"authorization":"${LEFT_OUT}","a":1}`],
    ["GET https://x/blob?se=1&sig=a%2Fb%3D&sp=r", `GET https://x/blob?se=1&sig=${LEFT_OUT}&sp=r`],
    ["https://x/?key=abc123 failed", `https://x/?key=${LEFT_OUT} failed`],
    ["X-Amz-Signature=0a1b", `X-Amz-Signature=${LEFT_OUT}`],
    ['{"auths":{"r.example":{"auth":"dXNlcjpwdw=="}}}', `{"auths":${LEFT_OUT}}`],
    ["Set-Cookie: session=abc; Path=/", `Set-Cookie: ${LEFT_OUT}`],
    ["ca: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1J", `ca: ${LEFT_OUT}`],
    ["--password hunter2 --v=1", `--password ${LEFT_OUT} --v=1`],
    ["curl -u ann:hunter2 x", `curl -u ann:${LEFT_OUT} x`],
    ["machine r login ann password hunter2", `machine r login ann password ${LEFT_OUT}`],
    ["Server=h;Pwd=hunter2;", `Server=h;Pwd=${LEFT_OUT};`],
    ["AccountKey=hunter2==;", `AccountKey=${LEFT_OUT};`],
    ["DB_PASS=hunter2", `DB_PASS=${LEFT_OUT}`],
    ["private_key: hunter2", `private_key: ${LEFT_OUT}`],
    ["JSESSIONID=hunter2", `JSESSIONID=${LEFT_OUT}`],
    ["password => 'hunter2'", `password => ${LEFT_OUT}`],
    ["https://x/?token%3Dhunter2", `https://x/?token%3D${LEFT_OUT}`],
    ['{"password":"a\\"hunter2","b":1}', `{"password":${LEFT_OUT},"b":1}`],
    ["postgres://ann:hun/ter2@h/db", `postgres://${LEFT_OUT}h/db`],
    ["amqp://ann:hun@ter2@h", `amqp://${LEFT_OUT}h`],
    ["password: |\n  hunt\n  er2\nnext: x", `password: ${LEFT_OUT}\n  ${LEFT_OUT}\nnext: x`],
    ['{"tokens":["hunter2","b"],"a":1}', `{"tokens":${LEFT_OUT},"a":1}`],
    ['{"name":"DB_PASSWORD","value":"hunter2"}', `{"name":"DB_PASSWORD","value":${LEFT_OUT}}`],
    ['<add key="Password" value="hunter2"/>', `<add key="Password" value=${LEFT_OUT}/>`],
    ["password\\u003dhunter2", `password\\u003d${LEFT_OUT}`],
    ["pass-phrase: hunter2", `pass-phrase: ${LEFT_OUT}`],
    ["GITHUB_PAT=hunter2", `GITHUB_PAT=${LEFT_OUT}`],
    ['invalid token "hunter2"', `invalid token ${LEFT_OUT}`],
    ["sshpass -p hunter2 ssh h", `sshpass -p ${LEFT_OUT} ssh h`],
    ["jdbc:oracle:thin:ann/hunter2@h:1521", `jdbc:oracle:thin:ann/${LEFT_OUT}@h:1521`],
    // Of a product that no rule knows: a word that looks random.
    ["key-Zx9Qw3Er7Ty1Ui5Op2As6Df8Gh4Jk0Lz ok", `${LEFT_OUT} ok`],
    [Buffer.from("users: [{user: {token: hunter2}}]").toString("base64"), LEFT_OUT],
  ] as const) {
    assert.equal(textWithoutSecrets(text), expected);
  }
});

test("the same in JSON within JSON, which stays valid", () => {
  const auths = { "r.example": { auth: "s3cret" } };
  const inner = { token: "s3cret", Authorization: "ApiKey s3cret", auths };
  for (const depth of [1, 2]) {
    let text = JSON.stringify(inner);
    for (let i = 0; i < depth; i++) text = JSON.stringify({ msg: text });
    const cleaned = textWithoutSecrets(text);
    assert.doesNotMatch(cleaned, /s3cret/);
    assert.doesNotThrow(() => JSON.parse(cleaned) as unknown, cleaned);
  }
});

test("the time for a text grows in proportion to it, whatever others have written", () => {
  const cost = (unit: string): number => {
    const begun = process.cpuUsage();
    textWithoutSecrets(`token${unit.repeat(100_000 / unit.length)}`);
    return process.cpuUsage(begun).user;
  };
  const plain = cost("some words ");
  // In proportion, it takes a few times as long; in proportion to its square, thousands of times.
  for (const unit of [
    "\\\\",
    "token\\\\",
    "token=\\\\",
    ":thin:a/",
    "://:",
    "password:[",
    "name:token ",
  ])
    assert.ok(cost(unit) < 100 * plain, unit);
});

test("what a bug report needs stays as it is", () => {
  for (const text of [
    '{"level":"warn","resource":"serviceimports","reason":"forbidden","detail":"HTTP 403: no"}',
    "shop/web.west01.878fabbf5e1b17d4",
    "shop/web:80 global cluster-2 10.2.1.6:8080",
    'clusterset_agent_sync_failures_total{code="CSP_LOCK_HELD"} 3',
    "https://10.0.0.1:6443/apis/multicluster.x-k8s.io/v1beta1/serviceimports",
    "uid 0b9f1c36-7a31-4e0c-9d5e-2f6b8a7c1d20 sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c",
    "azure:///resourceGroups/MC_shopGroup1_shopCluster/providers/Microsoft.Compute/virtualMachineScaleSets/0",
    "KUBE-SVC-XGLOHA7QRQ3V22RZ CLUSTERSET_AGENT_CLUSTERSET_CIDR serviceAccountToken bypass=true",
    "--authorization-mode Node --tokens-file-period 5s -u 1000",
    'secrets "shop/token" not found; path: /x, name: web, value: 80',
  ]) {
    assert.equal(textWithoutSecrets(text), text);
  }
});

test("of an object, values of variables and annotations that are not ours are left out", () => {
  const pod = (metadata: object, secret: string, token: string) => ({
    kind: "Pod",
    metadata: { name: "agent", ...metadata },
    spec: {
      containers: [
        {
          env: [
            { name: "PROXY", value: secret },
            { name: "CLUSTERSET_AGENT_HEALTH", value: "all" },
            { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
          ],
          args: ["--kubeconfig", "/x", `--token=${token}`, "--db-password", secret],
          livenessProbe: { httpGet: { httpHeaders: [{ name: "X-Api-Key", value: secret }] } },
        },
      ],
      automountServiceAccountToken: false,
      volumes: [
        { flexVolume: { options: { user: "ann", password: secret, pin: { token: secret } } } },
        { secret: { secretName: "x", items: [{ key: "a", path: "b" }] } },
        { projected: { sources: [{ serviceAccountToken: { path: "c", audience: "d" } }] } },
      ],
    },
  });
  const ours = { "clusterset-proxy.io/shift": "from=2026-11-24T04:00:00Z; for=2h" };
  const applied = { "kubectl.kubernetes.io/last-applied-configuration": '{"env":"planted-2"}' };
  const annotations = { "example.com/key": "planted-1", ...applied, ...ours };
  const managedFields = [{ manager: "kubectl" }];
  const left = { annotations: { "example.com/key": LEFT_OUT, ...ours } };
  const object = pod({ managedFields, annotations }, "planted-3", JWT);
  assert.deepEqual(objectWithoutSecrets(object), pod(left, LEFT_OUT, LEFT_OUT));
});

test("of a Secret, nothing but its name is left", () => {
  const name = { namespace: "a", name: "b" };
  const metadata = { ...name, annotations: { x: "planted" } };
  const secret = { kind: "Secret", metadata, data: { kubeconfig: "cGxhbnRlZA==" } };
  assert.deepEqual(objectWithoutSecrets(secret), { kind: "Secret", metadata: name });
});

test("free text of users and of other programs is left out, unless it is asked for", () => {
  const event = (component: string) => ({
    ...{ involvedObject: { kind: "Pod" }, source: { component }, message: "planted-1" },
  });
  const exported = {
    metadata: { annotations: { "clusterset-proxy.io/drain": "reason=planted-2" } },
    spec: { exportedAnnotations: { note: "planted-3" }, exportedLabels: { team: "planted-4" } },
  };
  const text = (object: unknown, withFreeText: boolean) =>
    JSON.stringify(objectWithoutSecrets(object, withFreeText));
  for (const object of [event("kubelet"), exported]) {
    assert.doesNotMatch(text(object, false), /planted/);
    assert.equal(text(object, true), JSON.stringify(object));
  }
  assert.match(text(event("clusterset-controller"), false), /planted-1/);
});

// In parts, so that no scanner takes this file for a leak.
const TOKENS = [
  `AKIA${"QZ3FV5PXKL7HYWD2"}`,
  `ghp_${"abcdefghijklmnopqrstuvwxyz0123456789"}`,
  `xoxb-${"123456789012-1234567890123-abcdefghijklmnopqrstuvwx"}`,
  `npm_${"abcdefghijklmnopqrstuvwxyz0123456789"}`,
];

test("tokens of known products are left out, in logs and in JSON, with the rest of their word", async () => {
  for (const token of TOKENS) {
    assert.equal(await withoutKnownTokens(`a ${token} b`), "a (left out) b");
    const json = JSON.stringify({ note: `${token}\nx`, b: 1 });
    assert.deepEqual(JSON.parse(await withoutKnownTokens(json)), { note: "(left out)\nx", b: 1 });
  }
  const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzabcdKEY12";
  assert.doesNotMatch(await withoutKnownTokens(`aws_secret_access_key = ${secret}`), /KEY12|wJal/);
});

test("no comment in a text switches the rules off", async () => {
  const [, token = ""] = TOKENS;
  const left = await withoutKnownTokens(`# secretlint-disable\n${token}\n`);
  assert.equal(left, "# secretlint-disable\n(left out)\n");
});

test("a text without tokens stays as it is", async () => {
  const text = '{"level":"info","import":"shop/web","reason":"programmed"}\n';
  assert.equal(await withoutKnownTokens(text), text);
});

test("tar unpacks what was packed: empty files, whole blocks, long paths and other scripts", () => {
  const files = new Map([
    ["empty.txt", ""],
    ["block.txt", "x".repeat(512)],
    [`${"d".repeat(90)}/${"e".repeat(50)}/${"f".repeat(90)}.log`, "long\n"],
    ["Größe.txt", "ü\n"],
  ]);
  const folder = mkdtempSync(join(tmpdir(), "clusterset-ustar-"));
  try {
    const parts = [...files].map(([path, text]) => entry(path, Buffer.from(text), 1_700_000_000));
    writeFileSync(join(folder, "a.tar"), Buffer.concat([...parts, END]));
    const env = { ...process.env, LC_ALL: "C.UTF-8" };
    execFileSync("tar", ["-xf", "a.tar"], { cwd: folder, env });
    for (const [path, text] of files) assert.equal(readFileSync(join(folder, path), "utf8"), text);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a path that no header can hold is an error that names it", () => {
  assert.throws(() => entry("x".repeat(101), Buffer.alloc(0), 0), /x+: too long for an archive/);
});

test("names that an API server answers lead to no file outside of the archive's folders, and end no bundle", async () => {
  const namespace = "clusterset-proxy";
  const labels = { "app.kubernetes.io/name": "clusterset-agent" };
  const names = ["...", "a\u001b[2K\nb", "x".repeat(250)];
  await using server = await FakeApiServer.start({
    objects: {
      pods: names.map((name) => ({ apiVersion: "v1", metadata: { namespace, name, labels } })),
    },
  });
  using user = new CommandLine({ one: server.inline });
  const folder = mkdtempSync(join(tmpdir(), "csp-bundle-"));
  try {
    const file = join(folder, "bundle.tar.gz");
    const { code, note } = await user.run("bundle", "-f", file);
    assert.equal(code, 3, note);
    const paths = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).trim().split("\n");
    for (const path of paths) {
      assert.match(path, /^[\w./-]+$/);
      assert.ok(!path.split("/").includes(".."), path);
    }
    assert.ok(paths.includes("1-one/logs/a__2K_b.log"), paths.join("\n"));
    assert.ok(paths.includes("contents.txt"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
