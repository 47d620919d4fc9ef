export type Artefact = string;
export function startBuilds(_needs: readonly Artefact[]): {
  ready(artefact: Artefact): Promise<void>;
} {
  return { ready: async () => {} };
}
