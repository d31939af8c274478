//! Settings: a TOML file, overridden by variables that begin with `FERRY_`.

use std::{fs, time::Duration};

/// Everything that can be set.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub listen: Listen,
    pub database: Database,
    pub limits: Limits,
    pub jobs: Jobs,
    pub token_lifetime: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct Listen {
    pub address: String,
    pub port: u16,
}

#[derive(Debug, Clone, Default)]
pub struct Database {
    pub url: String,
    pub max_connections: usize,
    pub acquire_timeout: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct Limits {
    pub rate: f64,
    pub burst: f64,
}

#[derive(Debug, Clone, Default)]
pub struct Jobs {
    pub lease: Duration,
    pub max_attempts: u32,
}

/// What can be wrong with a file of settings.
#[derive(Debug)]
pub enum ConfigError {
    Unreadable(std::io::Error),
    UnknownKey { line: usize, key: String },
    BadValue { line: usize, value: String },
}

/// Reads and parses the file, then applies the variables of the environment.
pub fn load(path: &str) -> Result<Config, ConfigError> {
    let text = fs::read_to_string(path).map_err(ConfigError::Unreadable)?;
    let mut config = parse(&text)?;
    override_from_env(&mut config)?;
    Ok(config)
}

/// Parses the text of a configuration file, line by line.
pub fn parse(text: &str) -> Result<Config, ConfigError> {
    let (mut config, mut section) = (Config::default(), String::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        set(&mut config, &section, key.trim(), value.trim().trim_matches('"'), number + 1)?;
    }
    Ok(config)
}

fn set(config: &mut Config, section: &str, key: &str, value: &str, line: usize) -> Result<(), ConfigError> {
    let bad = || ConfigError::BadValue { line, value: value.to_owned() };
    match (section, key) {
        ("listen", "address") => config.listen.address = value.to_owned(),
        ("listen", "port") => config.listen.port = value.parse().map_err(|_| bad())?,
        ("database", "url") => config.database.url = value.to_owned(),
        ("database", "max_connections") => config.database.max_connections = value.parse().map_err(|_| bad())?,
        ("database", "acquire_timeout") => config.database.acquire_timeout = parse_duration(value).ok_or_else(bad)?,
        ("limits", "rate") => config.limits.rate = value.parse().map_err(|_| bad())?,
        ("limits", "burst") => config.limits.burst = value.parse().map_err(|_| bad())?,
        ("jobs", "lease") => config.jobs.lease = parse_duration(value).ok_or_else(bad)?,
        ("jobs", "max_attempts") => config.jobs.max_attempts = value.parse().map_err(|_| bad())?,
        ("tokens", "lifetime") => config.token_lifetime = parse_duration(value).ok_or_else(bad)?,
        _ => return Err(ConfigError::UnknownKey { line, key: format!("{section}.{key}") }),
    }
    Ok(())
}

fn override_from_env(config: &mut Config) -> Result<(), ConfigError> {
    for (name, value) in std::env::vars() {
        let Some(rest) = name.strip_prefix("FERRY_") else { continue };
        if let Some((section, key)) = rest.to_lowercase().split_once('_') {
            set(config, section, key, &value, 0)?;
        }
    }
    Ok(())
}

/// `250ms`, `30s`, `5m` or `2h`.
fn parse_duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(60 * number)),
        "h" => Some(Duration::from_secs(3600 * number)),
        _ => None,
    }
}
