/** Where the guides can be read: the base of every `runbook_url`. */
export const RUNBOOKS = "https://github.com/clusterset-proxy/clusterset-proxy/blob/main/";

/** The address of a section of a guide, such as `docs/guides/drill.md#set-up`. A test checks that it exists. PURE. */
export function runbook(section: `docs/${string}`): string {
  return `${RUNBOOKS}${section}`;
}
