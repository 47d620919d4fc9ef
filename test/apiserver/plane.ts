import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { ApiClient } from "./api-client.ts";
import { writeAuditPolicy } from "./audit.ts";
import { apiServerFiles, writeServiceAccountKey } from "./components.ts";
import type { Place } from "./place.ts";
import { ADMIN, type Context, kubeconfigOf, tokenFile, type User } from "./user.ts";

/** What each control plane has, whatever runs in it: an address, a directory with its files, and users with tokens. */
export abstract class Plane {
  /** `https://address:port`. */
  readonly url: string;
  /** Everything it writes is in here. */
  readonly directory: string;
  /** A client that may do everything. */
  readonly admin: ApiClient;
  readonly place: Place;
  protected readonly files: ReturnType<typeof apiServerFiles>;
  protected readonly users: Map<string, User>;

  constructor(place: Place, directory: string, users: readonly User[]) {
    this.place = place;
    this.directory = directory;
    this.files = apiServerFiles(directory);
    this.users = new Map(users.map((user) => [user.name, user]));
    this.url = `https://${place.address}:${place.port}`;
    this.admin = this.client(ADMIN);
  }

  /** A client in this process. It always has the user's newest token. */
  client(user: string): ApiClient {
    return new ApiClient({
      url: this.url,
      connect: () => this.place.connect(),
      caFile: this.files.ca,
      token: () => this.user(user).token,
    });
  }

  /** A context for a user. The token is that of one of `users`, or given; `server`: where a client finds the API server that is not in the lab. */
  context({
    name = "test",
    user = ADMIN,
    token = this.user(user).token,
    server = {},
  } = {}): Context {
    const ca = readFileSync(this.files.ca).toString("base64");
    const cluster = { server: this.url, "certificate-authority-data": ca, ...server };
    return { name, cluster, user: { token } };
  }

  /** The text of a kubeconfig with this context, which holds all that it needs, and names no file. */
  inlineKubeconfig(of: { readonly user?: string; readonly token?: string } = {}): string {
    return kubeconfigOf(this.context(of));
  }

  /** Writes what the first start needs. */
  protected prepare(): void {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    writeServiceAccountKey(this.files.key);
    writeAuditPolicy(this.files.auditPolicy);
  }

  protected writeTokens(): void {
    this.write(this.files.tokens, tokenFile(this.users.values()));
  }

  protected user(name: string): User {
    const user = this.users.get(name);
    if (user === undefined) throw new Error(`${this.url}: there is no user ${name}`);
    return user;
  }

  /** Readers see the old file or the new one. */
  protected write(path: string, text: string): void {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}
