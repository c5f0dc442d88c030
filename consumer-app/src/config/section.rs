//! The notation in which the keys are declared: one entry a key, from which come the field, its default, the getter,
//! its documentation, and the row of the table that reads, writes and documents it.

/// Declares the keys of one subject. An entry is
///
/// ```text
/// /// What it means.
/// "its.name" => pub its_getter: Stored as Returned = kind, default;
/// ```
///
/// where `as Returned` is left out when the getter returns a copy.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $section:ident in $slot:ident, $feature:expr;
        $(
            $(#[doc = $meaning:literal])+
            $key:literal => $visibility:vis $getter:ident: $stored:ty $(as $returned:ty)? = $kind:expr, $default:expr;
        )+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, PartialEq)]
        pub(super) struct $section {
            $($getter: $stored,)+
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $($getter: $default,)+ }
            }
        }

        /// The keys, as they are documented.
        pub(super) static KEYS: &[ConfigKey] = &[
            $(ConfigKey {
                name: $key,
                meaning: concat!($($meaning),+),
                slot: Slot::Field(Field {
                    nature: || Nature::of(&$kind),
                    set: |config, text| {
                        config.$slot.$getter = $kind.parse(text)?;
                        Ok(())
                    },
                    write: |config| $kind.write(&config.$slot.$getter),
                    copy: |from, to| to.$slot.$getter = from.$slot.$getter.clone(),
                    feature: $feature,
                }),
            },)+
        ];

        impl ConsumerConfig {
            $(
                $(#[doc = $meaning])+
                #[doc = ""]
                #[doc = concat!("Key: `", $key, "`.")]
                #[must_use]
                $visibility fn $getter(&self) -> returned!($stored $(, $returned)?) {
                    self.$slot.$getter.shown()
                }
            )+
        }
    };
}

/// The type that a getter returns.
macro_rules! returned {
    ($stored:ty) => {
        $stored
    };
    ($stored:ty, $returned:ty) => {
        $returned
    };
}

pub(super) use {returned, section};
