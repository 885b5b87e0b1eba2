/** Keywords of JSON Schema whose values are schemas, by the shape of the value. */
export const ONE_SCHEMA = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']
export const LIST_OF_SCHEMAS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
export const MAP_OF_SCHEMAS = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
