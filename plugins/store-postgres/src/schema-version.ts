/** The version of the schema that this plugin makes and uses. */
export const SCHEMA_VERSION = 7
