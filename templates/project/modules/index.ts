// Your own modules go here: modules/weather.ts is `module: weather` in an agent file.
// A project file with the same path as a library module (modules/llm/auto.ts) overrides it.
export {}
