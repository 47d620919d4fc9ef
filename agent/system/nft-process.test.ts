import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { NftProcess } from "./nft-process.ts";

/**
 * Stands in for nft: writes down how it was started and what it read, reports unknown commands as libnftables does,
 * and does what a command says.
 */
const STAND_IN = `
log="$1"; shift
echo "start $* in $HOME" | sed "s,in .*/,in /," >> "$log"
[ "$1" = -f ] && { cat >> "$log"; exit 0; }
[ -e "$log.plain" ] && { echo "nft: this build has no command line"; exit 1; }
while read -r line; do
  echo "nft> $line"
  case "$line" in
    end-of-*) printf 'Error: syntax error, unexpected newline\\n%s\\n      ^^\\n' "$line" >&2 ;;
    *refuse*) echo "$line" >> "$log"; printf 'Error: No such file or directory\\n%s\\n ^^^^\\n' "$line" >&2 ;;
    *hang*) exec sleep 60 ;;
    *die*) exit 3 ;;
    *) echo "$line" >> "$log" ;;
  esac
done
echo end >> "$log"
`;

describe("a long-lived nft", () => {
  let directory: string;
  let log: string;
  let respawns: number;
  let nft: NftProcess;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), "csp-nft-"));
    writeFileSync(join(directory, "stand-in"), STAND_IN);
  });
  after(() => rmSync(directory, { recursive: true }));
  beforeEach((context) => {
    log = join(directory, `${context.name.replace(/\W+/g, "-")}.log`);
    writeFileSync(log, "");
    respawns = 0;
    nft = standIn();
  });
  afterEach(() => nft.close());

  function standIn(timeout = 20_000): NftProcess {
    const program = ["sh", join(directory, "stand-in"), log] as const;
    return new NftProcess({ program, onRespawn: () => respawns++, timeout });
  }

  const told = () => readFileSync(log, "utf8").trimEnd().split("\n");
  const INTERACTIVE = "start -i in /nonexistent";

  test("reads each transaction as one line and ends when it is closed", async () => {
    await nft.run("add table ip t\nadd chain ip t c\n");
    await nft.run("delete table ip t\n");
    assert.deepEqual(told(), [
      INTERACTIVE,
      "add table ip t;add chain ip t c;",
      "delete table ip t;",
    ]);
    await nft.close();
    assert.equal(told().at(-1), "end");
    assert.equal(respawns, 0);
  });

  test("a failed transaction rejects with nft's error, and the next one runs", async () => {
    const code = { code: "CSP_EXEC_FAILED", message: /^nft: Error: No such file.*\nrefuse this;$/ };
    await assert.rejects(nft.run("refuse this\n"), code);
    await nft.run("add table ip t\n");
    assert.deepEqual(told(), [INTERACTIVE, "refuse this;", "add table ip t;"]);
    assert.equal(respawns, 0);
  });

  test("is restarted after it died, and the transaction under way fails", async () => {
    await nft.run("add table ip t\n");
    await assert.rejects(nft.run("die\n"), { code: "CSP_EXEC_FAILED", message: /exit status 3/ });
    assert.equal(respawns, 1);
    await nft.run("delete table ip t\n");
    assert.equal(told().filter((line) => line === INTERACTIVE).length, 2);
  });

  test("is killed after the timeout, and the next transaction runs", async () => {
    nft = standIn(200);
    await assert.rejects(nft.run("hang\n"), { code: "CSP_EXEC_TIMEOUT" });
    await nft.run("add table ip t\n");
    assert.equal(respawns, 1);
  });

  test("a long transaction runs in a process of its own", async () => {
    await nft.run(`${"#".repeat(60_000)}\n`);
    assert.match(told()[0] ?? "", /^start -f - /);
  });

  test("is started per transaction if it has no -i", async () => {
    writeFileSync(`${log}.plain`, "");
    await nft.run("add table ip t\n");
    await nft.run("delete table ip t\n");
    const starts = told().map((line) => line.replace(/ in .*/, ""));
    const wanted = ["start -i", "start -f -", "add table ip t", "start -f -", "delete table ip t"];
    assert.deepEqual(starts, wanted);
  });
});
