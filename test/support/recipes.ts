/** A small valid recipe file; `more` is appended as it is. */
export const recipeText = (name: string, more = ""): string => `schemaVersion: 1
name: ${name}
description: For a test
dataset:
  name: toy
model:
  kind: tiny
  seed: 1
${more}`;

/** A data set spec that is not packed and expects these counts. */
export const specText = (name: string, trainRows: number, oodRows: number): string => `schemaVersion: 1
name: ${name}
description: For a test
licence: CC0-1.0
source:
  format: speechrole-release
  path: toy
  revision: "1"
  roles: roles.json
  references: { "1": cosyvoice2, "2": f5_tts, "3": e2_tts }
  trainReference: cosyvoice2
splits:
  by: spec
  seed: 1
  heldOutRoles: []
expected:
  trainRows: ${trainRows}
  oodRows: ${oodRows}
`;
